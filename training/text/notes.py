"""Reading: notes of any length, and questions about one of them.

A note is (kind, subject, value). Notes of one text never contradict each other. Which subjects may be asked about in
training is decided by the hash of (kind, subject): held-out pairs appear in the evaluation only, neither stated nor
asked in training.
"""

from dataclasses import dataclass

from chat import invented_word
from item import HELD, TRAIN, Wordings, capitalise, is_held, with_article, wordings
from spoken import clock
import world

NOT_IN_NOTES = "The notes don't say."


def _digits(count):
    return lambda rng: str(rng.randrange(10 ** (count - 1), 10 ** count))


def _phone(rng):
    return f"555-{rng.randrange(10000):04d}"


def _birthday(rng):
    month = rng.randrange(12)
    return f"{world.MONTHS[month]} {rng.randint(1, world.DAYS_IN_MONTH[month])}"


def _one_of(values):
    return lambda rng: rng.choice(values)


@dataclass(frozen=True)
class Kind:
    """{s} is the subject, {v} the value; the answer restates both, so that it can be checked and spoken on its own."""
    name: str
    subject: object     # rng -> str
    value: object       # rng -> str
    states: tuple
    ask: Wordings
    answer: str
    weight: float = 1.0


ASK_ATTRIBUTE = """
    What is {s}'s ATTR?
    What's {s}'s ATTR?
    Tell me {s}'s ATTR.
    What is the ATTR of {s}?
    Do you know {s}'s ATTR?
    Can you find {s}'s ATTR?
    Which ATTR does {s} have?
    What ATTR does {s} have?
    I need {s}'s ATTR.
    Give me {s}'s ATTR.
    {s}'s ATTR is what?
    What do the notes say about {s}'s ATTR?
    I forgot {s}'s ATTR. What is it?
    Find {s}'s ATTR in the notes.
    Please find {s}'s ATTR.
    Please give me {s}'s ATTR.
    Look for {s}'s ATTR.
    Please read {s}'s ATTR to me.
    Look {s}'s ATTR up.
    Check {s}'s ATTR for me.
    Please check the ATTR of {s}.
    What did I write about {s}'s ATTR?
    Could you tell me {s}'s ATTR?
    Can you say what {s}'s ATTR is?
    Say {s}'s ATTR."""
ASK_ATTRIBUTE_HELD = """
    Can you tell me {s}'s ATTR?
    Please look up {s}'s ATTR.
    What did I write down as {s}'s ATTR?
    Please tell me the ATTR of {s}."""
STATE_ATTRIBUTE = ("{s}'s ATTR is {v}.", "{s}'s ATTR is {v}.", "The ATTR of {s} is {v}.", "{s} has the ATTR {v}.", "ATTR of {s}: {v}.")

ATTRIBUTES = {
    "door code": _digits(4), "locker code": _digits(4), "alarm code": _digits(4), "gate code": _digits(4),
    "safe code": _digits(5), "bike lock code": _digits(3), "phone number": _phone, "room number": _digits(3),
    "seat number": _digits(2), "bus number": _digits(2), "shoe size": _one_of([str(n) for n in range(34, 48)]),
    "favorite color": _one_of(world.COLORS), "favorite food": _one_of(world.FOODS), "favorite animal": _one_of(world.ANIMALS),
    "favorite drink": _one_of(world.DRINKS), "favorite sport": _one_of(world.SPORTS), "favorite flower": _one_of(world.FLOWERS),
    "favorite fruit": _one_of(world.FRUITS), "birthday": _birthday, "hometown": _one_of(world.CITIES), "job": _one_of(world.JOBS),
    "best friend": _one_of(world.FIRST_NAMES), "middle name": _one_of(world.FIRST_NAMES), "lucky number": _digits(2),
    "wake-up time": lambda rng: clock(5 * rng.randrange(60, 120)), "lunch time": lambda rng: clock(5 * rng.randrange(132, 180)),
}


def _person(rng):
    return rng.choice(world.FIRST_NAMES) if rng.random() < 0.9 else invented_word(rng)


def _attribute_kind(name, value):
    fill = lambda text: text.replace("ATTR", name)
    return Kind(name, _person, value, tuple(capitalise(fill(state)) if not state.startswith("{") else fill(state) for state in STATE_ATTRIBUTE),
                wordings(fill(ASK_ATTRIBUTE), fill(ASK_ATTRIBUTE_HELD)), f"{{s}}'s {name} is {{v}}.")


def _thing(rng):
    return f"{rng.choice(world.ADJECTIVES)} {rng.choice(world.OBJECTS)}"


PRICES = [str(n) for n in range(2, 100)]

KINDS = [_attribute_kind(name, value) for name, value in ATTRIBUTES.items()] + [
    Kind("lives in", _person, _one_of(world.CITIES), ("{s} lives in {v}.", "{s} moved to {v} and lives there now.", "{s} has a home in {v}."), wordings("""
        Where does {s} live?
        In which city does {s} live?
        Which city does {s} live in?
        What city does {s} live in?
        Tell me where {s} lives.
        Do you know where {s} lives?
        {s} lives where?
        In what city is {s}'s home?""", """
        Can you tell me where {s} lives?
        What do the notes say about where {s} lives?"""), "{s} lives in {v}.", 2),
    Kind("works as", _person, _one_of([with_article(job) for job in world.JOBS]), ("{s} works as {v}.", "{s} earns money as {v}."), wordings("""
        What does {s} do for work?
        As what does {s} work?
        What does {s} work as?
        What work does {s} do?
        Tell me what {s} works as.
        How does {s} earn money?""", """
        Can you tell me what {s} works as?
        What kind of work does {s} do?"""), "{s} works as {v}.", 1.5),
    Kind("bought", _person, lambda rng: "a " + _thing(rng).replace("old", "new"), ("{s} bought {v}.", "{s} went to the shop and bought {v}."), wordings("""
        What did {s} buy?
        Tell me what {s} bought.
        Which thing did {s} buy?
        What has {s} bought?
        Do you know what {s} bought?
        {s} bought what?""", """
        Can you tell me what {s} bought?
        What was it that {s} bought?"""), "{s} bought {v}.", 1.5),
    Kind("will bring", _person, _one_of(world.FOODS), ("{s} will bring {v}.", "{s} said that they will bring {v}."), wordings("""
        What will {s} bring?
        Tell me what {s} will bring.
        What is {s} going to bring?
        What does {s} bring?
        Do you know what {s} will bring?""", """
        Can you tell me what {s} will bring?
        {s} will bring what?"""), "{s} will bring {v}.", 1.5),
    Kind("is kept", lambda rng: "the " + _thing(rng), _one_of(world.PLACES), ("{s} is {v}.", "{s} is {v}.", "You can find {s} {v}.", "I put {s} {v}."), wordings("""
        Where is {s}?
        Where can I find {s}?
        Tell me where {s} is.
        Where did I put {s}?
        Where do I find {s}?
        Do you know where {s} is?
        I am looking for {s}. Where is it?
        In which place is {s}?
        What do the notes say about where {s} is?""", """
        Can you tell me where {s} is?
        Where should I look for {s}?
        Please tell me where {s} is."""), "{s} is {v}.", 5),
    Kind("costs", lambda rng: "the " + _thing(rng), _one_of(PRICES), ("{s} costs {v} dollars.", "The price of {s} is {v} dollars."), wordings("""
        How much does {s} cost?
        What does {s} cost?
        What is the price of {s}?
        How much is {s}?
        Tell me the price of {s}.
        How many dollars does {s} cost?
        What do I have to pay for {s}?""", """
        Can you tell me the price of {s}?
        How much do I have to pay for {s}?"""), "{s} costs {v} dollars.", 3),
    Kind("takes place on", lambda rng: "the " + rng.choice(world.EVENTS), _one_of(world.WEEKDAYS), ("{s} is on {v}.", "{s} will be on {v}.", "On {v} there is {s}."), wordings("""
        When is {s}?
        On which day is {s}?
        What day is {s}?
        Which day is {s}?
        Tell me the day of {s}.
        On what day is {s}?
        Do you know when {s} is?""", """
        Can you tell me when {s} is?
        On which day of the week is {s}?"""), "{s} is on {v}.", 1.5),
    Kind("starts at", lambda rng: "the " + rng.choice(world.EVENTS), lambda rng: clock(5 * rng.randrange(84, 264)), ("{s} starts at {v}.", "{s} begins at {v}."), wordings("""
        What time does {s} start?
        At what time does {s} start?
        When does {s} start?
        When does {s} begin?
        Tell me what time {s} starts.
        What is the starting time of {s}?""", """
        Can you tell me what time {s} starts?
        At what time does {s} begin?"""), "{s} starts at {v}.", 1.5),
    Kind("takes place at", lambda rng: "the " + rng.choice(world.EVENTS), lambda rng: "the " + rng.choice(world.EVENT_PLACES), ("{s} takes place at {v}.", "The place for {s} is {v}."), wordings("""
        Where does {s} take place?
        Where will {s} take place?
        At which place does {s} take place?
        Tell me where {s} takes place.
        What is the place for {s}?
        In what place does {s} happen?""", """
        Can you tell me where {s} takes place?
        Do you know where {s} takes place?"""), "{s} takes place at {v}.", 1.5),
    Kind("number of", lambda rng: f"{rng.choice(world.COUNTABLES)} in the {rng.choice(world.ROOMS)}", _digits(2),
         ("The number of {s} is {v}.", "Number of {s}: {v}.", "As for {s}, there are {v}.", "I counted {v} {s}."), wordings("""
        How many {s}?
        How many {s} are there?
        Tell me the number of {s}.
        What is the number of {s}?
        Count the {s}.
        How many {s} did I count?
        Tell me how many {s} there are.
        Give me the number of {s}.""", """
        Can you tell me how many {s} there are?
        Do you know the number of {s}?"""), "the number of {s} is {v}.", 4),
] + [
    Kind(f"{pet}'s name", _person, _one_of(world.PET_NAMES), (f"{{s}}'s {pet} is called {{v}}.", f"{{s}} has a {pet} called {{v}}."), wordings(f"""
        What is {{s}}'s {pet} called?
        What is the name of {{s}}'s {pet}?
        What's the name of {{s}}'s {pet}?
        Tell me the name of {{s}}'s {pet}.
        How is {{s}}'s {pet} called?
        What name does {{s}}'s {pet} have?""", f"""
        Can you tell me the name of {{s}}'s {pet}?
        Do you know what {{s}}'s {pet} is called?"""), f"{{s}}'s {pet} is called {{v}}.", 0.4)
    for pet in world.PETS
]
_KIND_WEIGHTS = [kind.weight for kind in KINDS]
_CUMULATIVE = [sum(_KIND_WEIGHTS[:n + 1]) for n in range(len(KINDS))]

WHOSE = wordings("""
    Whose ATTR is {v}?
    Who has the ATTR {v}?
    {v} is whose ATTR?
    Which person has the ATTR {v}?""", """
    Who is the person with the ATTR {v}?""")
CAN_BE_REVERSED = ("door code", "locker code", "alarm code", "gate code", "safe code", "phone number")

FILLER_SUBJECTS = """the old clock|the neighbor|the wind|the cat next door|a tall stranger|the postman|our bus|the river|a young couple|
the fire|the market|a little bird|the moon|the morning train|the shop on the corner|the baker's wife|a group of children|the fog|the rain|
the new mayor|a white boat|the school bell|the garden gate|the gray cat|a red kite|the choir|the street lamp|the last snow|a quiet song|
the summer heat""".replace("\n", "").split("|")
FILLER_VERBS = """moved slowly|made a soft noise|went past the window|stopped for a while|was late again|looked very calm|came back early|
stayed near the water|turned around twice|waited without a word|disappeared at last|felt strange|was seen by nobody|kept going|rested for an hour|
seemed far away|was as quiet as ever|got a little better|changed again|began once more""".replace("\n", "").split("|")
FILLER_TIMES = """in the morning|after lunch|before sunset|late at night|last week|all day long|on the way home|during the break|at the weekend|
in early spring|as usual|for no reason|while we talked|after the rain|some years ago|just before noon|when the lights went out|
in the cold air""".replace("\n", "").split("|")
FILLER_REMARKS = """Nobody was surprised.|It did not matter much.|We laughed about it later.|That was all for the day.|Everyone went home happy.|
The rest is not important.|There was nothing more to say.|I wrote it down anyway.|It was a good day.|Then it was quiet again.|Time went by.|
The tea was still warm.|We should do that again.|It smelled of fresh bread.|I could hear music somewhere.|The leaves were falling.""".replace("\n", "").split("|")


def filler_sentence(rng):
    choice = rng.random()
    if choice < 0.2:
        return rng.choice(FILLER_REMARKS)
    subject, verb, when = rng.choice(FILLER_SUBJECTS), rng.choice(FILLER_VERBS), rng.choice(FILLER_TIMES)
    if choice < 0.7:
        return f"{capitalise(subject)} {verb} {when}."
    return f"{capitalise(when)}, {subject} {verb}."


HEADERS = """Here are my notes:|These are my notes:|Notes:|My notes:|Read these notes:|Here are some notes:|My notes for this week:|Please read my notes:|
Use these notes:|I have these notes:|Here is what I wrote down:""".replace("\n", "").split("|")
SYSTEM_HEADERS = """You answer questions about these notes:|Use these notes to answer:|Notes of the user:|Here are the notes of the user:|
Answer from the notes:|You are a helpful assistant. These are the notes:""".replace("\n", "").split("|")
ACKNOWLEDGE = ["Okay, I have read your notes."]


@dataclass
class Note:
    kind: Kind
    subject: str
    value: str


class Notebook:
    """A text of notes and filler with a chosen length, and what may be asked about it."""

    def __init__(self, rng, split, n_tokens, count_tokens):
        self.rng, self.split = rng, split
        self.notes, self.lines, seen = [], [], {}
        share_of_notes = rng.choice((0.15, 0.3, 0.5, 0.7, 0.9))
        few_people = rng.sample(world.FIRST_NAMES, rng.randint(3, 25)) if rng.random() < 0.5 else None
        few_kinds = rng.choices(KINDS, cum_weights=_CUMULATIVE, k=rng.randint(2, 8)) if rng.random() < 0.4 else None
        used = 0
        while True:
            note = None
            if not self.notes or rng.random() < share_of_notes:
                note = self._draw(few_people, few_kinds, seen)
            line = (capitalise(rng.choice(note.kind.states).format(s=note.subject, v=note.value)) if note
                    else filler_sentence(rng))
            used += count_tokens(line)
            if used > n_tokens and self.notes:
                break
            self.lines.append(line)
            if note:
                self.notes.append(note)
        self.seen = seen

    def _draw(self, few_people, few_kinds, seen):
        rng = self.rng
        for _ in range(4):
            kind = rng.choice(few_kinds) if few_kinds else rng.choices(KINDS, cum_weights=_CUMULATIVE)[0]
            subject = rng.choice(few_people) if few_people and kind.subject is _person else kind.subject(rng)
            if (kind.name, subject) in seen or (self.split == TRAIN and is_held(kind.name, subject)):
                continue
            value = kind.value(rng)
            seen[kind.name, subject] = value
            return Note(kind, subject, value)
        return None

    def body(self):
        style = self.rng.random()
        if style < 0.65:
            return " ".join(self.lines)
        if style < 0.85:
            return "\n".join(self.lines)
        return "\n".join("- " + line for line in self.lines)

    def question(self, note):
        """(question, answers, key, wording) about one note."""
        kind = note.kind
        wording = kind.ask.pick_any_for_held(self.rng, self.split)
        answer = capitalise(kind.answer.format(s=note.subject, v=note.value))
        return (capitalise(wording.format(s=note.subject)), [answer, note.value], (kind.name, note.subject), wording)

    def reversed_question(self):
        """Whose code is it? Only for values that name one person in these notes; None if there is no such note."""
        candidates = [note for note in self.notes if note.kind.name in CAN_BE_REVERSED]
        if not candidates:
            return None
        note = self.rng.choice(candidates)
        if sum(other.value == note.value for other in self.notes) > 1:
            return None
        wording = WHOSE.pick(self.rng, self.split).replace("ATTR", note.kind.name)
        answer = f"{note.subject}'s {note.kind.name} is {note.value}."
        return wording.format(v=note.value), [answer, note.subject], (note.kind.name, note.subject), wording

    def unanswerable_question(self):
        """A question whose subject or attribute, but not the pair, may stand in the notes."""
        while True:
            kind = self.rng.choices(KINDS, cum_weights=_CUMULATIVE)[0]
            if self.rng.random() < 0.6 and self.notes:
                kind = self.rng.choice(self.notes).kind
            subject = kind.subject(self.rng)
            if kind.subject is _person and self.rng.random() < 0.5:
                people = [note.subject for note in self.notes if note.kind.subject is _person]
                subject = self.rng.choice(people) if people else subject
            if (kind.name, subject) not in self.seen and is_held(kind.name, subject) == (self.split == HELD):
                wording = kind.ask.pick_any_for_held(self.rng, self.split)
                return capitalise(wording.format(s=subject)), [NOT_IN_NOTES], (kind.name, subject), wording

    def askable(self):
        """Training may ask about every note it contains; the evaluation asks about held-out pairs."""
        if self.split == TRAIN:
            return self.notes
        return [note for note in self.notes if is_held(note.kind.name, note.subject)]
