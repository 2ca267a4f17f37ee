"""Random sentences in canonical spelling: what users say and what the assistant answers, and any other English.

A mix says which kinds of sentences there are. "assistant" keeps to the assistant's world; "asr" and "tts" have endless
different texts, so that a model cannot know them by heart. Invented words are names in training only: how they are
spelled cannot be heard for sure. A fixed hash of the sentence decides whether it is for training or held out, whatever
it was made from; only the short commands belong to both sides.
"""

from pathlib import Path
import re
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "text"))

from canonical import canonical  # noqa: E402
import common_words  # noqa: E402
import everyday  # noqa: E402
import examples  # noqa: E402
import homophones  # noqa: E402
import templates  # noqa: E402
from chat import invented_word  # noqa: E402
from dialogue import PREFIXES, SKILLS  # noqa: E402
from facts import RELATIONS  # noqa: E402
from item import HELD, TRAIN, capitalise, is_held, with_article  # noqa: E402
from notes import KINDS, filler_sentence  # noqa: E402
import spoken  # noqa: E402
import varied  # noqa: E402
from words import WORDS, plain_sentence  # noqa: E402
import world  # noqa: E402
from written import written_sentence  # noqa: E402

MAX_LENGTH = 110
OPERATORS = ("plus", "minus", "times", "divided by")
ALLOWED = re.compile(r"[A-Za-z0-9 ,.?:'-]+")
_UNCLEAR = re.compile(r"[0-9]+-[0-9]+[.?]")     # a sum, or digits one by one
COMMANDS = tuple("""Stop.|Yes.|No.|Yes, please.|No, thank you.|Thank you.|Thanks.|Please.|Hello.|Hi.|Hey.|Goodbye.|
Bye.|Okay.|Wait.|Wait a moment.|Go on.|Continue.|Again, please.|Say that again.|Repeat that.|Louder, please.|
Slower, please.|Be quiet.|Never mind.|Cancel.|Cancel that.|Start again.|That's right.|That's wrong.|Good morning.|
Good evening.|Good night.|Sorry.|Excuse me.|Help.|Help me.|What?|Why?|Who?|Where?|When?|How?|Really?|I don't know.|
Maybe.|Of course.|Sure.|Listen.|One moment.|Tell me more.|Stop talking.|Pause.|Next.|Next, please.|What did you say?|
Can you hear me?|I see.|Not now.|Later.|All right.|Done.|That's all.""".replace(
    "\n", "").split("|"))
_NEEDS_QUESTION = ("Tell me", "Can you", "Could you", "Hey, c", "I want", "Do you", "I was")
_STARTERS = frozenset("""What What's Which Who Where When How On In Is Do Tell Name Give At Can Add Calculate Convert
Spell Say The A An Count List Sort Find Please If It Whose""".split())
_SKILLS = [generator for generator, _ in SKILLS.values()]
_SHARES = [share for _, share in SKILLS.values()]
_SPLIT_SENTENCES = re.compile(r"(?<=[.?!]) ")


def _vocabulary():
    """Every word that the world's data holds."""
    found = set()

    def walk(value):
        if isinstance(value, str):
            found.update(word for word in re.findall(r"[A-Za-z]+", value) if len(word) > 1)
        elif isinstance(value, dict):
            for pair in value.items():
                walk(pair)
        elif isinstance(value, (list, tuple)):
            for part in value:
                walk(part)
    for name in dir(world):
        if name.isupper() and name != "CHEMICAL_SYMBOLS":
            walk(getattr(world, name))
    proper = {word for word in found if word[0].isupper()}
    return sorted(proper | {word for word in found if word.islower() and word.capitalize() not in proper} | set(
        w for w in WORDS if w.capitalize() not in proper))


VOCABULARY = _vocabulary()
_KNOWN_WORDS = frozenset(VOCABULARY)
_CLEAR_WORDS = [word for word in VOCABULARY if word.lower() not in homophones.RARER]
CONTENT_WORDS = sorted(word for word in {*VOCABULARY, *templates.forms()} - {word.lower() for word in VOCABULARY if
                       word[0].isupper()} if word.lower() not in homophones.RARER)
FUNCTION_WORDS = """a the and or but of to in on at for from with by as is are was were be has have had do does did not
no this that these those it he she they we you I my your his her its what when where who why how if so than then there
here some any all each every very more most much many can could will should may might must about after before up
down out off over under again""".split()
_BEFORE_OTHERS = """the|the|the|a|a|to|to|of the|in the|in|of|and|and the|for the|my|your|his|her|this|that|is|was|are|were|with|
with a|from|on|on the|at the|by|but|or|not|I|you|he|she|it|we|they|I'm|don't|didn't|doesn't|can't|won't|it is|that's|
what's|there's|let's|I've|I'll|we'll|who|what|when|why|how|if|so|very|too|more|some|any|no|all the|every|each|another|
because|before the|after|into|over|under the|about|about the|has|have|had|been|being|will|would|could|should|can|must|
may|did|does|do|up|down|out|off|back|away|just|still|again|never|always|than|as|like|like a|near the|without|between|
going to|has been|had to|have to|used to|want to|need to|out of|one of the|kind of|a lot of|as soon as""".replace(
    "\n", "").split("|")
INVENTED_SHARE = 0.03
_OF_SYMBOLS, _TO_SYMBOLS = (next(relation for relation in RELATIONS if relation.name == name) for name in ("element", "symbol"))
_SPELLABLE = [word for word in WORDS + world.FIRST_NAMES if word.lower() not in homophones.RARER]


def _note(rng, invents):
    kind = rng.choice(KINDS)
    subject = kind.subject(rng)
    while not invents and subject.istitle() and subject.isalpha() and subject not in _KNOWN_WORDS:
        subject = kind.subject(rng)
    return kind, subject, kind.value(rng)


def _item(rng, split, invents):
    """A skill's item; without `invents` none about an invented thing."""
    while True:
        item = rng.choices(_SKILLS, _SHARES)[0](rng, split)
        if invents or item.key[0] != "unknown" or item.key[-1] in world.CAPITALS:
            return item


def _question(rng, split, invents):
    if rng.random() < 0.12:
        kind, subject, _ = _note(rng, invents)
        return capitalise(kind.ask.pick_any_for_held(rng, split).format(s=subject))
    text = _item(rng, split, invents).question
    if rng.random() < 0.15:
        prefix = rng.choice(PREFIXES)
        if text.endswith("?") or not prefix.startswith(_NEEDS_QUESTION):
            text = prefix + (text[0].lower() + text[1:] if text.split(" ", 1)[0] in _STARTERS else text)
    return text


def _answer(rng, split, invents):
    choice = rng.random()
    if choice < 0.12:
        kind, subject, value = _note(rng, invents)
        return capitalise(kind.answer.format(s=subject, v=value))
    if choice < 0.18:
        return rng.choice((filler_sentence, plain_sentence))(rng)
    text = rng.choices(_SKILLS, _SHARES)[0](rng, split).answers[0]
    if len(text) > MAX_LENGTH:   # a story: one or two of its sentences
        parts = _SPLIT_SENTENCES.split(text)
        first = rng.randrange(len(parts))
        text = " ".join(parts[first:first + rng.randint(1, 2)])
    return text


def _word_sequence(rng, _split, _invents):
    return capitalise(" ".join(rng.choice(_CLEAR_WORDS) for _ in range(rng.randint(3, 9)))) + "."


def _free_words(rng, _split, invents):
    """Two to nine words, in half of the sequences with function words between them."""
    words, n_words, has_function_words = [], rng.randint(2, 9), rng.random() < 0.5
    while len(words) < n_words:
        if has_function_words and rng.random() < 0.5:
            words.append(rng.choice(FUNCTION_WORDS))
        elif invents and rng.random() < INVENTED_SHARE:
            words.append(invented_word(rng))
        else:
            words.append(rng.choice(CONTENT_WORDS))
    return capitalise(" ".join(words)) + "."


def _common_word(rng):
    draw = rng.random()
    return rng.choice(common_words.common_words(homophones.RARER)[0 if draw < 0.35 else 1 if draw < 0.7 else 2])


def _common_sequence(rng, _split, _invents):
    """Two to six of the commoner words of English, behind words as they stand before others in sentences."""
    words = []
    for _ in range(rng.randint(2, 6)):
        if rng.random() < 0.65:
            words.append(rng.choice(_BEFORE_OTHERS))
        words.append(_common_word(rng))
    return capitalise(" ".join(words)) + "."


def _everyday(rng, _split, _invents):
    return everyday.contracted(rng, everyday.everyday_sentence(rng))


def _varied(rng, _split, _invents):
    return everyday.contracted(rng, varied.varied_sentence(rng))


def _example(rng, _split, _invents):
    return examples.example_sentence(rng)


def _written(rng, _split, _invents):
    return written_sentence(rng)


def _template(rng, _split, _invents):
    return templates.template_sentence(rng)


def _command(rng, _split, _invents):
    return rng.choice(COMMANDS)


def _number(rng, _split, _invents):
    digits = lambda count: str(rng.randrange(10 ** (count - 1), 10 ** count))
    time = spoken.clock(rng.randrange(1440) if rng.random() < 0.4 else 5 * rng.randrange(288))
    month = rng.randrange(12)
    date = f"{world.MONTHS[month]} {rng.randint(1, world.DAYS_IN_MONTH[month])}"
    phone, year = f"555-{rng.randrange(10000):04d}", str(rng.randint(1900, 2049))
    code = "-".join(digits(1) for _ in range(rng.randint(3, 5)))
    any_number = digits(rng.randint(1, 4))
    return rng.choice((
        f"It is {time}.", f"{time}.", f"Wake me up at {time}.", f"The train leaves at {time}.", f"See you at {time}.",
        f"Set an alarm for {time}.", f"It is {date}.", f"{date}.", f"My birthday is {date}.",
        f"Today is {date}, {year}.", f"I was born in {year}.", f"That was in {year}.", f"The number is {phone}.",
        f"Call {phone}.", f"My phone number is {phone}.", f"The code is {code}.", f"{code}.",
        f"The number is {any_number}.", f"{any_number}.", f"It costs {digits(2)} dollars.",
        f"It is {digits(2)} percent.", f"It is {rng.randint(-9, 39)} degrees.",
        f"I have {any_number} {rng.choice(world.COUNTABLES)}.",
        f"{', '.join(digits(rng.randint(1, 2)) for _ in range(rng.randint(3, 6)))}.",
        f"Set a timer for {spoken.duration(rng.randint(1, 200))}.", f"It is {digits(1)}.{digits(1)}.",
        f"I live at {digits(rng.randint(1, 3))} {rng.choice(world.FIRST_NAMES)} Street.", f"Tell me about {year}.",
        f"{digits(2)} {rng.choice(OPERATORS)} {digits(rng.randint(1, 2))}.",
    ))


def _spelling(rng, _split, invents):
    word = invented_word(rng) if invents and rng.random() < 0.2 else rng.choice(_SPELLABLE)
    return _spelled(rng, word)


def _wide_spelling(rng, _split, _invents):
    return _spelled(rng, rng.choice(CONTENT_WORDS))


def _spelled(rng, word):
    letters = ", ".join(word.upper())
    some = ", ".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(rng.randint(1, 6)))
    return rng.choice((f"{letters}.", f"{capitalise(word)} is spelled {letters}.", f"It is spelled {letters}.",
                       f"{capitalise(word)}, {letters}.", f"{some}.", f"The letters are {some}.", f"That is {letters}.",
                       f"Spell {word}."))


def _letters(rng, split, _invents):
    """Letters in the company of other words: chemical symbols, seats, initials. "E" and "I" differ by their sound alone there."""
    if rng.random() < 0.5:
        if rng.random() < 0.6:
            return _OF_SYMBOLS.item(rng, split).question
        return rng.choice((_OF_SYMBOLS, _TO_SYMBOLS)).item(rng, split).answers[0]
    a, b, c = rng.sample("BCDEFGHIJKLMNOPQRSTUVWXYZ", 3)
    name, thing, n = rng.choice(world.FIRST_NAMES), rng.choice(world.OBJECTS), rng.randint(13, 99)
    return rng.choice((
        f"The letter {a}.", f"Is it {a} or {b}?", f"It begins with {a}, {b}.", f"Does it end with {a}, {b}?", f"My initials are {a}, {b}.",
        f"{name}'s initials are {a}, {b}, {c}.", f"We sit in row {a}.", f"Take platform {a}.", f"Is plan {a} better than plan {b}?",
        f"Which letter comes after {a}?", f"Which letter comes before {a}?", f"I said {a}, {b}, not {a}, {c}.", f"Not {a}, {b}.",
        f"The {thing} is in box {a}.", f"Press {a}, then {b}.", f"Room {n} {a}.", f"Turn to page {n}, part {a}.",
        f"Write {a}, {b}, {c} on the {thing}.", f"Vitamin {a} is good for you.", f"The answer is {a}.", f"Choose {a}, {b} or {c}.",
        f"How do you write the letter {a}?", f"The code begins with {a}, {b}."))


def _name(rng, _split, invents):
    name = rng.choice(world.FIRST_NAMES + [""])
    if not name:
        name = invented_word(rng) if invents else rng.choice(world.FIRST_NAMES)
    place = rng.choice(world.CITIES + sorted(world.CAPITALS) + sorted(world.CAPITALS.values()))
    word, thing = rng.choice(_CLEAR_WORDS), f"{rng.choice(world.ADJECTIVES)} {rng.choice(world.OBJECTS)}"
    return rng.choice((f"{name}.", f"My name is {name}.", f"This is {name}.", f"Call {name}.", f"Hello, {name}.",
                       f"I am {name}.", f"{capitalise(place)}.", f"I live in {place}.", f"Where is {place}?",
                       f"{capitalise(word)}.", f"{capitalise(word)}?", f"{name} lives in {place}.",
                       f"{capitalise(with_article(thing))}.", f"And {place}?", f"What about {name}?"))


_ENDLESS = (_word_sequence, _free_words, _common_sequence, _everyday, _varied, _example, _written, _template, _letters)
REPEATED_SHARE = 0.1
_WORLD = ((_question, 45), (_answer, 25), (_word_sequence, 10), (_number, 8), (_spelling, 6), (_name, 4), (_command, 2))
_WORLD_IN_ASR = 0.17 / sum(share for _, share in _WORLD)
MIXES = {
    "assistant": _WORLD,
    "asr": (*((maker, share * _WORLD_IN_ASR) for maker, share in _WORLD), (_varied, 0.19), (_written, 0.14),
            (_everyday, 0.08), (_example, 0.21), (_common_sequence, 0.05), (_free_words, 0.03), (_number, 0.05), (_wide_spelling, 0.03),
            (_letters, 0.02), (_template, 0.02), (_command, 0.01)),
    "tts": ((_answer, 45), (_template, 25), (_question, 15), (_free_words, 10), (_number, 5)),
}


def is_held_out(text: str) -> bool:
    return is_held("sentence", text.lower())


def sentence(rng, split: str = TRAIN, mix: str = "assistant", is_new=None) -> str:
    """One sentence of at most 110 characters that ends with a full stop or a question mark.

    is_new(text) is asked about most of those which would come again and again, until it agrees.
    """
    makers, shares = zip(*MIXES[mix])
    maker = rng.choices(makers, shares)[0]
    if maker in _ENDLESS or rng.random() < REPEATED_SHARE:
        is_new = None
    while True:
        text = canonical(maker(rng, split, split == TRAIN and mix != "tts"))
        if maker is _command:
            return text
        fits = len(text) <= MAX_LENGTH and ALLOWED.fullmatch(text) and not _UNCLEAR.fullmatch(text)
        if fits and text not in COMMANDS and is_held_out(text) == (split == HELD) and (not is_new or is_new(text)):
            return text
