"""What people say every day, in sentences that were written one by one: everyday_written.txt, a sentence a line."""

import functools
from pathlib import Path

FILE = Path(__file__).parent / "everyday_written.txt"


@functools.lru_cache(None)
def written():
    return FILE.read_text(encoding="utf-8").splitlines()


def written_sentence(rng) -> str:
    return rng.choice(written())
