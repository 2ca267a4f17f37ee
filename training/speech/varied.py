"""Everyday sentences with other words in them: each noun, verb, adjective and adverb may be one of the 38,000 commoner words of
English that stands in such places.

The grammar of everyday.py and what was written by hand have a few thousand words; a recogniser must have heard most others in sentences, too. How common a
word is say the lists of Debian's python3-zxcvbn (films and television, an encyclopedia, passwords) and scowl, what it can be
festlex-poslex, how it sounds festlex-cmu. Of words that sound alike in the same place only the commonest is taken.
"""

import bisect
import functools
import itertools
import os
import re
import runpy

import common_words
import everyday
from written import written_sentence

SIZES = {10: 6_000, 20: 12_000, 35: 25_000, 40: 30_000, 50: 40_000}   # of scowl, and the rank of words that no other list has
RANKED_BY = {"us_tv_and_film": 1, "english_wikipedia": 1, "passwords": 2}   # and by what their ranks are multiplied
FIRST_RANKS, FLATNESS = 800, 0.9                    # a word's weight is (rank + FIRST_RANKS) ** -FLATNESS
MOST_USUAL = 150                                    # ranks of words that stay where they are
# How often a tag of festlex-poslex is in its newspapers.
_TAGS = {"nn": 0.13, "nns": 0.06, "jj": 0.06, "rb": 0.03, "vb": 0.026, "vbd": 0.03, "vbn": 0.02, "vbg": 0.015, "vbz": 0.02}
_OTHERS = {"in": 0.1, "dt": 0.08, "nnp": 0.09, "prp": 0.02, "prp$": 0.01, "md": 0.01, "cc": 0.025, "cd": 0.035, "to": 0.022,
           "wdt": 0.005, "wp": 0.003, "wrb": 0.002, "ex": 0.001, "uh": 0.0001, "nnps": 0.002, "pdt": 0.001, "rp": 0.003}
WRITTEN = 0.4                                       # share of the sentences that begin as one of everyday_written.txt
LEAST_SHARE = 0.25                                  # of its uses, so that a word counts as this tag
_ENTRY = re.compile(r'\("([a-z]+)" \((.*)\) \(\) \)')
_TAG = re.compile(r"\((\S+) (-[0-9.]+)\)")
_ENDINGS = (("ly", "rb"), ("ing", "vbg"), ("ed", "vbd"), ("ss", "nn"), ("ous", "jj"), ("ful", "jj"), ("less", "jj"), ("y", "jj"),
            ("s", "nns"))
_WORD = re.compile(r"[A-Za-z']+")
_BEFORE_NOUNS = frozenset("the a an my your his her our their this that some every any no".split())


@functools.lru_cache(None)
def ranks():
    """Word -> its place by how common it is; words of at least two letters whose sound is known."""
    file = os.environ.get("ZXCVBN_PATH", "/usr/lib/python3/dist-packages/zxcvbn") + "/frequency_lists.py"
    if not os.path.exists(file):
        raise FileNotFoundError(f"{file} is missing: install Debian's python3-zxcvbn, or set ZXCVBN_PATH")
    lists, ranked = runpy.run_path(file)["FREQUENCY_LISTS"], {}
    for name, factor in RANKED_BY.items():
        for rank, word in enumerate(lists[name]):
            ranked[word] = min(rank * factor, ranked.get(word, rank * factor))
    found = {}
    for size, rank in SIZES.items():
        for kind in ("english", "american"):
            for word in common_words.scowl(f"{kind}-words.{size}"):
                if len(word) > 1 and word in common_words.sounds() and word not in found:
                    found[word] = ranked.get(word, rank)
    return {word: place for place, word in enumerate(sorted(found, key=lambda word: (found[word], word)))}


@functools.lru_cache(None)
def _tags():
    """Word -> {tag: share of its uses}."""
    found = {}
    for line in common_words.festival("dicts/wsj.wp39.poslexR").splitlines():
        entry = _ENTRY.match(line)
        if entry:
            uses = {tag: 2.718281828 ** float(log) * (_TAGS.get(tag) or _OTHERS.get(tag, 0.001)) for tag, log in _TAG.findall(entry[2])}
            found[entry[1]] = {tag: use / sum(uses.values()) for tag, use in uses.items()}
    for word in ranks():
        if word not in found:
            found[word] = {next((tag for ending, tag in _ENDINGS if word.endswith(ending)), "nn"): 1.0}
    return found


@functools.lru_cache(None)
def _tag(word):
    """What a word of a sentence mostly is, None where it is not to be replaced."""
    if ranks().get(word, 0) < MOST_USUAL:
        return None
    uses = _tags()[word]
    tag = max(uses, key=uses.get)
    return tag if tag in _TAGS else None


@functools.lru_cache(None)
def _words(tag):
    """(words, sums of their weights)."""
    by_sound = {}
    for word in sorted(ranks(), key=ranks().get):
        if _tags()[word].get(tag, 0) >= LEAST_SHARE:
            by_sound.setdefault(common_words.sounds()[word], word)
    words = list(by_sound.values())
    return words, list(itertools.accumulate((ranks()[word] + FIRST_RANKS) ** -FLATNESS for word in words))


def _draw(rng, tag):
    words, sums = _words(tag)
    return words[bisect.bisect(sums, rng.random() * sums[-1])]


def varied_sentence(rng) -> str:
    if rng.random() < WRITTEN:
        return _varied(rng, written_sentence(rng), rng.choice((0.1, 0.25)), 0.0)
    return _varied(rng, everyday.everyday_sentence(rng), rng.choice((0.25, 0.5, 0.8)), rng.choice((0.0, 0.0, 0.25)))


def _varied(rng, text, share, added) -> str:
    """share: of the words that may be others; added: of the nouns that get a word before them."""
    out, at, before = [], 0, ""
    for match in _WORD.finditer(text):
        word = match[0]
        tag = _tag(word.lower() if not match.start() else word)
        if tag and rng.random() < share:
            word = _draw(rng, tag)
        if tag in ("nn", "nns") and before in _BEFORE_NOUNS and rng.random() < added:
            word = f"{_draw(rng, rng.choice(('jj', 'jj', 'nn')))} {word}"
        out += [text[at:match.start()], word]
        at, before = match.end(), match[0].lower()
    return everyday.polished("".join(out) + text[at:])
