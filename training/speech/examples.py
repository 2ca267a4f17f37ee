"""Sentences and phrases that people wrote: the examples of WordNet, Debian's package wordnet-base.

Templates have the words of English, but not their company: a recogniser that has read only them hears "a bedtime" for "a
bad time". Only examples whose words all have a known sound are taken.
"""

import functools
import os
from pathlib import Path
import re

import common_words
from item import capitalise

PARTS = ("noun", "verb", "adj", "adv")
LEAST_WORDS, MOST_LETTERS = 3, 100
_QUOTED = re.compile(r'"([^"]+)"')
_PLAIN = re.compile(r"[A-Za-z ,.?']+")
_WORD = re.compile(r"[A-Za-z']+")
_LETTERS = re.compile(r"\b[A-Z]{2}|[a-z][A-Z]|\b[A-Za-z]\.")     # of what is said one by one
_ENDINGS = re.compile(r"('s|s'|n't|'re|'ve|'ll|'d|'m)$")
_ASKING = re.compile(r"(who|what|when|where|why|how|which|whose|do|does|did|is|are|can|could|will|would|have|has) (you|he|she|it|they|we|i|the) .*")


def _has_sound(word):
    return word in common_words.sounds() or _ENDINGS.sub("", word) in common_words.sounds() or word in ("won't", "can't")


def cleaned(example):
    """The example as a sentence with a mark at its end, or None."""
    text = " ".join(example.replace(";", ",").replace("!", ".").replace("`", "'").split()).strip(" ,'")
    words = _WORD.findall(text.lower())
    if not _PLAIN.fullmatch(text) or ".." in text or _LETTERS.search(text) or not all(map(_has_sound, words)):
        return None
    if len(words) < LEAST_WORDS or len(text) > MOST_LETTERS:
        return None
    if text[-1] not in ".?":
        text += "?" if _ASKING.fullmatch(text.lower()) and "," not in text else "."
    return capitalise(text)


@functools.lru_cache(None)
def examples():
    folder, found = Path(os.environ.get("WORDNET_PATH", "/usr/share/wordnet")), set()
    for part in PARTS:
        file = folder / f"data.{part}"
        if not file.exists():
            raise FileNotFoundError(f"{file} is missing: install Debian's wordnet-base, or set WORDNET_PATH")
        for line in file.read_text(encoding="latin-1").splitlines():
            found.update(map(cleaned, _QUOTED.findall(line.partition(" | ")[2])))
    return sorted(found - {None})


def example_sentence(rng) -> str:
    return rng.choice(examples())
