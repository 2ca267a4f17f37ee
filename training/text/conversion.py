"""Unit conversion. Each unit pair states its range; larger decimal ranges hold out values, small tables hold out wordings."""

from item import HELD, Item, capitalise, is_held, wordings
from spoken import number_words

# large unit singular, plural, small unit plural, factor, largest amount of the large unit
UNITS = [
    ("meter", "meters", "centimeters", 100, 200), ("kilometer", "kilometers", "meters", 1000, 200),
    ("kilogram", "kilograms", "grams", 1000, 200), ("centimeter", "centimeters", "millimeters", 10, 500),
    ("liter", "liters", "milliliters", 1000, 200), ("ton", "tons", "kilograms", 1000, 100),
    ("dollar", "dollars", "cents", 100, 200), ("century", "centuries", "years", 100, 30),
    ("decade", "decades", "years", 10, 30), ("hour", "hours", "minutes", 60, 12), ("minute", "minutes", "seconds", 60, 12),
    ("day", "days", "hours", 24, 10), ("week", "weeks", "days", 7, 20), ("year", "years", "months", 12, 12),
    ("foot", "feet", "inches", 12, 12), ("yard", "yards", "feet", 3, 40), ("pound", "pounds", "ounces", 16, 10),
    ("gallon", "gallons", "quarts", 4, 30), ("dozen", "dozen", "pieces", 12, 12),
]
DECIMAL_FACTORS = (10, 100, 1000)
ALWAYS_TRAINED_UP_TO = 12

TO_SMALL = wordings("""
    How many {s} are in {n} {l}?
    How many {s} are {n} {l}?
    How many {s} is {n} {l}?
    What is {n} {l} in {s}?
    Convert {n} {l} to {s}.
    Convert {n} {l} into {s}.
    {n} {l} in {s}
    {n} {l} are how many {s}?
    Tell me {n} {l} in {s}.
    How much is {n} {l} in {s}?
    {n} {l} to {s}
    Change {n} {l} to {s}.""", """
    What are {n} {l} in {s}?
    Tell me how many {s} are in {n} {l}.
    Please convert {n} {l} to {s}.
    How many {s} make {n} {l}?""")


def conversion_item(rng, split):
    while True:
        singular, plural, small, factor, top = rng.choice(UNITS)
        n = rng.randint(1, top)
        decimal = factor in DECIMAL_FACTORS and n > ALWAYS_TRAINED_UP_TO
        if not decimal or is_held("convert", plural, small, n) == (split == HELD):
            break
    to_large = rng.random() < 0.4
    asks_any = TO_SMALL.pick_any_for_held if decimal else TO_SMALL.pick
    wording = asks_any(rng, split)
    large = singular if n == 1 else plural
    m = n * factor
    as_asked = lambda x: str(x) if x > 9999 or rng.random() < 0.8 else number_words(x)
    if to_large:
        question = wording.format(n=as_asked(m), l=small, s=plural)
        answers = [f"{m} {small} is {n} {large}.", f"{n} {large}", str(n), f"{m} {small} are {n} {large}."]
    else:
        question = wording.format(n=as_asked(n), l=large, s=small)
        answers = [f"{n} {large} is {m} {small}.", f"{m} {small}", str(m), f"{n} {large} are {m} {small}."]
    return Item("conversion", capitalise(question), answers, ("convert", plural, small, n), wording,
                "combination" if decimal else "wording")
