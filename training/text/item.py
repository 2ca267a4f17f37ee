"""One question with its accepted answers, and the rules that keep training and held-out questions apart.

Two things can be held out. A *wording* is a question template: every skill lists the wordings used in training and the
wordings kept for the evaluation. A *combination* is what the template is filled with (two operands, a person and an
attribute): a fixed hash of it decides on which side it lies.
"""

from dataclasses import dataclass
import zlib

TRAIN, HELD = "train", "held"
HELD_OUT_ONE_IN = 12


@dataclass
class Item:
    category: str
    question: str
    answers: list       # answers[0] is what training teaches; the others are accepted too
    key: tuple          # the combination that the question asks about
    wording: str        # the template of the question
    holds_out: str      # "wording" or "combination": what separates this skill's evaluation from training


def is_held(*combination):
    """True for the combinations that training never sees. Stable across runs and machines."""
    return zlib.crc32("|".join(map(str, combination)).encode()) % HELD_OUT_ONE_IN == 0


def pick_combination(rng, split, draw):
    """Draws combinations with draw() until one lies on the wanted side of the split."""
    while True:
        combination = draw()
        if is_held(*combination) == (split == HELD):
            return combination


@dataclass(frozen=True)
class Wordings:
    train: tuple
    held: tuple

    def pick(self, rng, split):
        return rng.choice(self.train if split == TRAIN else self.held)

    def pick_any_for_held(self, rng, split):
        """For skills that hold out combinations: the evaluation uses both known and unknown wordings."""
        if split == HELD and rng.random() < 0.4:
            return rng.choice(self.held)
        return rng.choice(self.train)


def wordings(train, held):
    """Both arguments hold one template a line."""
    split = lambda text: tuple(line.strip() for line in text.strip().splitlines())
    return Wordings(split(train), split(held))


def capitalise(text):
    return text[:1].upper() + text[1:]


def with_article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun
