"""The commoner words of English; of words that sound alike only the commonest.

Which words are common says Debian's package scowl (its three smallest lists), how they sound says festlex-cmu. Where the
lists do not tell which of two is commoner, neither is taken.
"""

import functools
import os
from pathlib import Path
import re

LISTS = tuple((f"english-words.{size}", f"american-words.{size}") for size in (10, 20, 35))
_ENTRY = re.compile(r'\("([a-z]+)" \S+ (.*)\)')
_PHONE = re.compile(r"[a-z]+")


def _file(variable: str, default: str, name: str) -> str:
    path = Path(os.environ.get(variable, default)) / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: install Debian's scowl and festlex-cmu, or set {variable}")
    return path.read_text(encoding="latin-1")


def festival(name: str) -> str:
    return _file("FESTIVAL_DATA_PATH", "/usr/share/festival", name)


def scowl(name: str):
    """Words of a list."""
    return _file("SCOWL_PATH", "/usr/share/dict/scowl", name).split()


@functools.lru_cache(None)
def sounds():
    """Word -> its phones, without stress. Of several pronunciations the first."""
    found = {}
    for line in festival("dicts/cmu/cmudict-0.4.out").splitlines():
        entry = _ENTRY.match(line)
        if entry:
            found.setdefault(entry[1], " ".join(_PHONE.findall(entry[2])))
    return found


@functools.lru_cache(None)
def common_words(unclear=frozenset()):
    """Words of at least two letters, a list for each of LISTS; none of `unclear`."""
    by_sound, listed = {}, set()
    for rank, names in enumerate(LISTS):
        for name in names:
            for word in scowl(name):
                if len(word) > 1 and word in sounds() and word not in listed:
                    listed.add(word)
                    by_sound.setdefault(sounds()[word], []).append((rank, word))
    clear = [[] for _ in LISTS]
    for words in by_sound.values():
        best = min(rank for rank, _ in words)
        commonest = [word for rank, word in words if rank == best]
        if len(commonest) == 1 and commonest[0] not in unclear:
            clear[best].append(commonest[0])
    return [sorted(words) for words in clear]
