"""Questions about the facts of the world. Every fact is trained; the evaluation asks with wordings that training lacks."""

import world
from item import Item, capitalise, with_article, wordings


class Relation:
    """A table of facts with its wordings. {k} is what is asked about, {v} the value."""

    def __init__(self, name, table, ask, answer, weight=1.0, short=None):
        self.name, self.table, self.ask, self.answer = name, table, ask, answer
        self.keys = list(table)
        self.short = short or (lambda v: v)
        self.weight = weight * len(self.keys) ** 0.5

    def item(self, rng, split, key=None):
        key = key if key is not None else rng.choice(self.keys)
        wording = self.ask.pick(rng, split)
        value = self.table[key]
        full = capitalise(self.answer.format(k=key, v=value))
        return Item("facts", capitalise(wording.format(k=key, v=value)), [full, str(self.short(value))],
                    (self.name, key), wording, "wording")


def _articled(table):
    return {with_article(key): value for key, value in table.items()}


RELATIONS = [
    Relation("capital", world.CAPITALS, wordings("""
        What is the capital of {k}?
        What's the capital of {k}?
        What is the capital city of {k}?
        Tell me the capital of {k}.
        Name the capital of {k}.
        Which city is the capital of {k}?
        What city is the capital of {k}?
        Do you know the capital of {k}?
        Can you tell me the capital of {k}?
        The capital of {k} is what?
        {k}: what is the capital?
        Give me the capital of {k}.
        I need the capital of {k}.
        I want to know the capital of {k}.
        Please name the capital city of {k}.
        What is {k}'s capital?
        What's {k}'s capital city?""", """
        Which city is {k}'s capital?
        Could you name the capital city of {k}?
        I would like to know the capital of {k}.
        What is the name of the capital of {k}?
        Can you give me the capital of {k}?"""), "the capital of {k} is {v}.", 1.6),
    Relation("country of capital", {v: k for k, v in world.CAPITALS.items()}, wordings("""
        {k} is the capital of which country?
        Which country has the capital {k}?
        What country is {k} the capital of?
        Of which country is {k} the capital?
        Which country's capital is {k}?
        Tell me which country {k} is the capital of.
        {k} is the capital of what country?
        What country has {k} as its capital?
        Do you know what country {k} is the capital of?""", """
        Which country has {k} as its capital?
        Do you know which country {k} is the capital of?
        {k} is the capital city of which country?"""), "{k} is the capital of {v}."),
    Relation("continent", world.CONTINENTS, wordings("""
        On which continent is {k}?
        Which continent is {k} in?
        What continent is {k} in?
        What continent is {k} on?
        On what continent do I find {k}?
        In which continent is {k}?
        Tell me the continent of {k}.
        Which continent does {k} belong to?
        {k} is on which continent?
        Name the continent of {k}.
        What is the continent of {k}?
        Do you know which continent {k} is on?""", """
        What continent does {k} belong to?
        Which continent is {k} on?
        {k} is in which continent?
        Can you tell me the continent of {k}?"""), "{k} is in {v}."),
    Relation("language", world.LANGUAGES, wordings("""
        What language do they speak in {k}?
        Which language is spoken in {k}?
        What language is spoken in {k}?
        What do people speak in {k}?
        What is the language of {k}?
        Tell me the language of {k}.
        Which language do people speak in {k}?
        What language do people in {k} speak?
        In {k}, what language do they speak?
        Name the language of {k}.""", """
        Which language do they speak in {k}?
        What language do people speak in {k}?
        Do you know the language of {k}?"""), "people in {k} speak {v}."),
    Relation("currency", world.CURRENCIES, wordings("""
        What is the currency of {k}?
        What currency is used in {k}?
        Which currency does {k} use?
        What money do they use in {k}?
        What do people pay with in {k}?
        Tell me the currency of {k}.
        What's the currency of {k}?
        Which money is used in {k}?
        What is the money in {k} called?
        Name the currency of {k}.""", """
        What currency does {k} use?
        Which currency is used in {k}?
        Do you know the currency of {k}?"""), "the currency of {k} is {v}."),
    Relation("color", world.COLORS_OF_THINGS, wordings("""
        What color is {k}?
        Which color is {k}?
        What is the color of {k}?
        What's the color of {k}?
        Tell me the color of {k}.
        Do you know what color {k} is?
        Which color does {k} have?
        What color does {k} have?
        Name the color of {k}.
        {k} has what color?""", """
        Can you tell me the color of {k}?
        Tell me what color {k} is.
        Which color is it: {k}?"""), "{k} is {v}."),
    Relation("sound", _articled(world.ANIMAL_SOUNDS), wordings("""
        What sound does {k} make?
        Which sound does {k} make?
        What noise does {k} make?
        What does {k} do to make a sound?
        How does {k} sound?
        Tell me the sound of {k}.
        What is the sound of {k}?
        What's the sound that {k} makes?
        What kind of sound does {k} make?""", """
        Which noise does {k} make?
        Tell me what sound {k} makes.
        What kind of noise does {k} make?"""), "{k} {v}."),
    Relation("baby", _articled(world.ANIMAL_BABIES), wordings("""
        What is the baby of {k} called?
        What do you call the baby of {k}?
        What is the young of {k} called?
        What is the name for the baby of {k}?
        What do we call the young of {k}?
        How do you call the baby of {k}?
        Tell me the name of the baby of {k}.
        What's the baby of {k} called?
        The baby of {k} is called what?""", """
        What do you call the young of {k}?
        What do we call the baby of {k}?
        Tell me what the baby of {k} is called."""), "the baby of {k} is called {v}."),
    Relation("home", _articled(world.ANIMAL_HOMES), wordings("""
        Where does {k} live?
        What is the home of {k}?
        In what does {k} live?
        What does {k} live in?
        What's the home of {k} called?
        Where is the home of {k}?
        Tell me where {k} lives.
        What is the home of {k} called?""", """
        Do you know where {k} lives?
        What do you call the home of {k}?
        Where do I find the home of {k}?"""), "{k} lives in {v}."),
    Relation("legs", _articled(world.ANIMAL_LEGS), wordings("""
        How many legs does {k} have?
        How many legs has {k} got?
        What is the number of legs of {k}?
        Tell me how many legs {k} has.
        {k} has how many legs?
        Count the legs of {k}.
        Do you know how many legs {k} has?""", """
        How many legs are there on {k}?
        Can you tell me how many legs {k} has?
        What number of legs does {k} have?"""), "{k} has {v} legs."),
    Relation("symbol", world.CHEMICAL_SYMBOLS, wordings("""
        What is the chemical symbol for {k}?
        What is the chemical symbol of {k}?
        What's the symbol for {k}?
        Which symbol does {k} have?
        Tell me the chemical symbol of {k}.
        What is the symbol of {k}?
        Which chemical symbol stands for {k}?
        Name the chemical symbol for {k}.
        Give me the symbol for {k}.""", """
        Which chemical symbol does {k} have?
        What's the chemical symbol of {k}?
        Do you know the chemical symbol for {k}?"""), "the symbol for {k} is {v}."),
    Relation("element", {v: k for k, v in world.CHEMICAL_SYMBOLS.items()}, wordings("""
        Which element has the symbol {k}?
        What element has the symbol {k}?
        The symbol {k} stands for which element?
        Which element does the symbol {k} stand for?
        What element is {k}?
        Tell me the element with the symbol {k}.
        What does the chemical symbol {k} mean?""", """
        Which chemical element has the symbol {k}?
        What element does the symbol {k} stand for?"""), "the symbol {k} stands for {v}.", 0.6),
    Relation("opposite", world.OPPOSITES, wordings("""
        What is the opposite of {k}?
        What's the opposite of {k}?
        Tell me the opposite of {k}.
        Which word is the opposite of {k}?
        Name the opposite of {k}.
        Give me the opposite of {k}.
        What word means the opposite of {k}?
        The opposite of {k} is what?
        Do you know the opposite of {k}?
        What is the opposite of the word {k}?""", """
        Can you tell me the opposite of {k}?
        Which word means the opposite of {k}?
        I need the opposite of the word {k}.
        What would be the opposite of {k}?"""), "the opposite of {k} is {v}."),
    Relation("plural", world.IRREGULAR_PLURALS, wordings("""
        What is the plural of {k}?
        What's the plural of {k}?
        Tell me the plural of {k}.
        What is the plural form of {k}?
        One {k}, two what?
        Give me the plural of {k}.
        Put the word {k} in the plural.
        What do you call more than one {k}?
        Which word is the plural of {k}?
        How do you form the plural of {k}?""", """
        Do you know the plural of {k}?
        What is the plural of the word {k}?
        Name the plural of {k}."""), "the plural of {k} is {v}."),
    Relation("past", world.PAST_TENSES, wordings("""
        What is the past tense of {k}?
        What's the past tense of {k}?
        Tell me the past tense of {k}.
        What is the past of {k}?
        Give me the past tense of {k}.
        Today I {k}, yesterday I what?
        Which word is the past tense of {k}?
        What is the past tense form of the verb {k}?
        Give me the past of the verb {k}.
        Put the verb {k} in the past tense.
        What is the past form of {k}?""", """
        Do you know the past tense of {k}?
        What is the past tense of the verb {k}?
        Name the past tense of {k}."""), "the past tense of {k} is {v}."),
    Relation("sides", world.SIDES_OF_SHAPES, wordings("""
        How many sides does a {k} have?
        How many sides has a {k}?
        What is the number of sides of a {k}?
        Tell me how many sides a {k} has.
        A {k} has how many sides?
        Count the sides of a {k}.""", """
        How many sides are there in a {k}?
        Do you know how many sides a {k} has?
        What number of sides does a {k} have?"""), "a {k} has {v} sides."),
    Relation("superlative", world.SUPERLATIVES, wordings("""
        What is the {k}?
        What's the {k}?
        Which is the {k}?
        Tell me the {k}.
        Name the {k}.
        Can you name the {k}?
        Do you know the {k}?
        What do you know about the {k}? What is it?
        The {k} is what?
        I want to know the {k}.
        What is called the {k}?
        Give me the {k}.""", """
        Can you tell me the {k}?
        Do you know what the {k} is?
        I would like to know the {k}.
        Please tell me what the {k} is."""), "the {k} is {v}.", 1.3),
    Relation("deed", world.DEEDS, wordings("""
        Who {k}?
        Do you know who {k}?
        Tell me who {k}.
        Can you tell me who {k}?
        Which person {k}?
        What is the name of the person who {k}?
        I want to know who {k}.
        Name the person who {k}.
        Who was it that {k}?
        Say who {k}.""", """
        Who is the person who {k}?
        Could you tell me who {k}?
        I would like to know who {k}.
        Which famous person {k}?"""), "{v} {k}.", 1.3),
    Relation("definition", _articled(world.DEFINITIONS), wordings("""
        What is {k}?
        What's {k}?
        What does {k} mean?
        Tell me what {k} is.
        Explain what {k} is.
        Can you explain what {k} is?
        Do you know what {k} is?
        What do you call {k}? What is it?
        Describe {k}.""", """
        Can you tell me what {k} is?
        I want to know what {k} is.
        Please explain what {k} is."""), "{k} is {v}."),
    Relation("tool", _articled(world.TOOL_USES), wordings("""
        What do you use {k} for?
        What is {k} used for?
        What is {k} for?
        What can I do with {k}?
        Why do people use {k}?
        What do people use {k} for?
        Tell me what {k} is used for.
        What do we need {k} for?
        What does one do with {k}?""", """
        What do we use {k} for?
        What can you do with {k}?
        Do you know what {k} is used for?"""), "you use {k} to {v}."),
    Relation("material", world.MADE_FROM, wordings("""
        What is {k} made from?
        What is {k} made of?
        From what is {k} made?
        What do you need to make {k}?
        Tell me what {k} is made from.
        What's {k} made of?
        What do people make {k} from?
        Out of what is {k} made?""", """
        What's {k} made from?
        Do you know what {k} is made of?
        Can you tell me what {k} is made from?"""), "{k} comes from {v}."),
    Relation("landmark", world.LANDMARKS, wordings("""
        Where is {k}?
        Where can I find {k}?
        Where can I see {k}?
        In which place is {k}?
        Tell me where {k} is.
        Where do I find {k}?
        Do you know where {k} is?
        Where in the world is {k}?
        Where does {k} stand?""", """
        Where can I visit {k}?
        Can you tell me where {k} is?
        Where do I have to go to see {k}?"""), "you can find {k} in {v}."),
]


class CountRelation(Relation):
    """How many PARTS are in WHOLE: the key is a pair."""

    def item(self, rng, split, key=None):
        key = key or rng.choice(self.keys)
        parts, whole = key
        n = self.table[key]
        wording = self.ask.pick(rng, split)
        return Item("facts", capitalise(wording.format(p=parts, w=whole)),
                    [f"There are {n} {parts} in {whole}.", str(n), f"{n} {parts}"], ("count", parts, whole), wording, "wording")


COUNT_RELATION = CountRelation("count", world.COUNTS, wordings("""
    How many {p} are in {w}?
    How many {p} are there in {w}?
    How many {p} does {w} have?
    {w} has how many {p}?
    Tell me how many {p} are in {w}.
    What is the number of {p} in {w}?
    Do you know how many {p} are in {w}?
    How many {p} make up {w}?
    How many {p} has {w}?
    Say how many {p} there are in {w}.""", """
    Can you tell me how many {p} are in {w}?
    Tell me the number of {p} in {w}.
    Do you know how many {p} {w} has?
    How many {p} can you count in {w}?"""), "", 1.3)
RELATIONS.append(COUNT_RELATION)

PLANET_POSITION = wordings("""
    Which planet is the {o} from the sun?
    What is the {o} planet from the sun?
    What planet is {o} from the sun?
    Which planet comes {o} from the sun?
    Counted from the sun, which planet is the {o}?
    Name the {o} planet from the sun.
    Tell me the {o} planet.
    What is the {o} planet?""", """
    Which planet is {o} from the sun?
    Which one is the {o} planet from the sun?""")

IS_CAPITAL = wordings("""
    Is {c} the capital of {k}?
    Is {c} the capital city of {k}?
    Is {k}'s capital called {c}?
    Is {k}'s capital city {c}?
    Is it right that {c} is the capital of {k}?
    Can you confirm that {c} is the capital of {k}?
    Is the capital of {k} {c}?
    True or false: {c} is the capital of {k}.
    {c} is the capital of {k}, right?
    {c} is the capital of {k}, isn't it?""", """
    Is it true that {c} is the capital of {k}?
    Is {k}'s capital {c}?""")

WORD_TO_ORDINAL = "first second third fourth fifth sixth seventh eighth".split()


def planet_item(rng, split):
    n = rng.randrange(8)
    wording = PLANET_POSITION.pick(rng, split)
    planet, ordinal = world.PLANETS[n], WORD_TO_ORDINAL[n]
    return Item("facts", wording.format(o=ordinal), [f"The {ordinal} planet from the sun is {planet}.", planet],
                ("planet", n), wording, "wording")


def is_capital_item(rng, split):
    country = rng.choice(list(world.CAPITALS))
    capital = world.CAPITALS[country]
    wording = IS_CAPITAL.pick(rng, split)
    if rng.random() < 0.5:
        claim, answer = capital, f"Yes, {capital} is the capital of {country}."
    else:
        claim = rng.choice([c for c in world.CAPITALS.values() if c != capital])
        answer = f"No, the capital of {country} is {capital}."
    return Item("facts", capitalise(wording.format(c=claim, k=country)), [answer, answer.split(",")[0]],
                ("is capital", country, claim), wording, "wording")


_WEIGHTS = [relation.weight for relation in RELATIONS]
FOLLOW_UPS = ("And {k}?", "What about {k}?", "And what about {k}?", "How about {k}?", "And for {k}?")


def facts_item(rng, split):
    choice = rng.random()
    if choice < 0.03:
        return planet_item(rng, split)
    if choice < 0.08:
        return is_capital_item(rng, split)
    return rng.choices(RELATIONS, _WEIGHTS)[0].item(rng, split)


def follow_up_pair(rng, split):
    """A question and an elliptic second one: "What is the capital of Spain?" "And Italy?"."""
    relation = rng.choice(RELATIONS[:6])
    first, second = rng.sample(relation.keys, 2)
    item, reference = relation.item(rng, split, first), relation.item(rng, split, second)
    wording = rng.choice(FOLLOW_UPS)
    return item, Item("facts", wording.format(k=second), reference.answers, reference.key, wording, "wording")


def count_of_facts():
    return sum(len(relation.table) for relation in RELATIONS) + len(world.PLANETS)
