"""What somebody says who hesitates: a filler between two words, and sentences that stop half-way.

A recogniser that never heard a filler takes it for a word ("up" for "uh"), and one that never heard half a time of day
guesses the rest. Both look like the end of what somebody wanted to say.
"""

from pathlib import Path
import re
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "text"))

from canonical import canonical  # noqa: E402

FILLERS = ("um", "uh", "hmm", "well")
_WEIGHTS = (4, 4, 2, 1)
_CLOCK = re.compile(r"([0-9]{1,2}):[0-9]{2}")
_MARKS = ".,?!:"
# First words that are written small behind another.
_OPENERS = frozenset("""What What's Which Who Where When How On In Is Are Do Does Did Can Could Tell Name Give At The A An It This That
There These We You He She They My Your Please If""".split())


def _parts(rng, text):
    """The text before and behind a random place between two words."""
    words = text.split()
    at = rng.randrange(1, len(words))
    if _CLOCK.fullmatch(words[at - 1]) and rng.random() < 0.5:      # "at eleven" of "at 11:55 pm"
        return " ".join([*words[:at - 1], words[at - 1].split(":")[0]]), ""
    return " ".join(words[:at]).rstrip(_MARKS), " ".join(words[at:])


def hesitant(rng, text):
    """(what is written, what is said) of the sentence with a filler, or of its beginning.

    A beginning has no mark behind it; it is said as if a comma followed.
    """
    if " " not in text:
        return text, text
    (first, rest), kind = _parts(rng, text), rng.random()
    filler = rng.choices(FILLERS, _WEIGHTS)[0]
    if kind < 0.1 and text.split(" ", 1)[0] in _OPENERS:
        whole = f"{filler.capitalize()}, {text[0].lower()}{text[1:]}"
    elif kind < 0.6 and rest:
        whole = f"{first}, {filler}, {rest}"
    else:
        written = canonical(f"{first}, {filler}" if kind < 0.8 else first).rstrip(_MARKS)
        return written, written + ","
    return canonical(whole), canonical(whole)
