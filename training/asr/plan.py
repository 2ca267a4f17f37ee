"""Which utterances a batch holds and how they lie in its clips: numpy only, for processes that have no device.

Every batch of one length has the same number of clips. A GPU's libraries plan their transforms and convolutions anew
for every shape they have not met, which takes longer than the work itself.
"""

from dataclasses import dataclass

import numpy as np

from mel import RATE

MAX_PARTS = 4               # utterances of one clip
MAX_SECONDS = 24            # of a clip
QUARTERS = (4, 6, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96)     # lengths of clips
SLOWEST, FASTEST = 0.85, 1.18


@dataclass
class Shares:
    """Of clips with more or less than one whole utterance."""
    silent: float = 0.08
    pairs: float = 0.14
    more: float = 0.02
    forced: float = 0.05    # answers that start behind a given language
    cut: float = 0.15
    cut_in_pair: float = 0.6


PLAIN = Shares(0, 0, 0, 0, 0, 0)


@dataclass
class Clips:
    """A planned batch."""
    start: np.ndarray           # (batch, MAX_PARTS) where in the corpus
    n: np.ndarray               # the same: samples there
    at: np.ndarray              # the same: where in the clip
    speed: np.ndarray           # the same
    length: np.ndarray          # (batch,) samples of the clips
    text: list                  # None where nobody speaks
    symbols: list
    is_forced: list


def random_speed(rng):
    return float(np.exp(rng.uniform(np.log(SLOWEST), np.log(FASTEST)))) if rng.random() < 0.7 else 1.0


def plan(source, rng, parts, is_plain=False, cut_share=0.0):
    """One clip of the utterances `parts`: (start, n, at, speed) of each, its length, its text and its symbols.

    All but the last may end within their sentences, which makes sequences of words that nobody can know by heart.
    """
    rows, texts, symbols, at = [], [], [], 0
    if not is_plain and rng.random() < 0.6:
        at = int(rng.integers(0, RATE // 2))
    for k, utterance in enumerate(parts):
        is_last = k + 1 == len(parts)
        if not is_last and rng.random() < cut_share and int(utterance) in source.cuts:
            row, text, said = _cut_row(source, rng, int(utterance), at)
        else:
            start, n, speed = int(source.start[utterance]), int(source.n[utterance]), 1.0
            if not is_plain:
                cut_front, cut_back = rng.integers(0, RATE // 10, 2)        # of the silence around it
                start, n, speed = start + int(cut_front), n - int(cut_front) - int(cut_back), random_speed(rng)
            row, text, said = (start, n, at, speed), source.text[utterance], source.symbols_of(utterance)
        rows.append(row)
        at += int(row[1] / row[3])
        if not is_last and not is_plain:
            at += int(rng.integers(0, RATE // 2))
        texts.append(text)
        symbols = symbols + ([1] if k else []) + said
    if not is_plain and rng.random() < 0.5:
        at += int(rng.integers(0, RATE * 6 // 10))
    return rows, at, " ".join(texts), symbols


def plan_silence(rng):
    return [], int(rng.integers(RATE // 3, RATE * 6)), None, []


def _cut_row(source, rng, utterance, at):
    cut = source.cuts[utterance][rng.integers(len(source.cuts[utterance]))]
    start = int(rng.integers(0, RATE // 10))
    n = min(int(source.n[utterance]), int(rng.integers(cut.earliest, cut.latest + 1))) - start
    return (int(source.start[utterance]) + start, n, at, random_speed(rng)), cut.text, cut.symbols


def plan_cut(source, rng, utterance):
    """A clip that ends within the sentence, as a stream hears it."""
    at = int(rng.integers(0, RATE // 2)) if rng.random() < 0.6 else 0
    row, text, symbols = _cut_row(source, rng, utterance, at)
    return [row], at + int(row[1] / row[3]), text, symbols


def gather_clips(plans, is_forced):
    rows = np.zeros((len(plans), MAX_PARTS, 4))
    rows[..., 3] = 1
    for k, (parts, *_) in enumerate(plans):
        if parts:
            rows[k, :len(parts)] = parts
    whole = lambda x: np.ascontiguousarray(x.astype(np.int64))
    return Clips(whole(rows[..., 0]), whole(rows[..., 1]), whole(rows[..., 2]), rows[..., 3].astype(np.float32),
                 np.array([length for _, length, _, _ in plans], np.int64), [text for _, _, text, _ in plans],
                 [symbols for *_, symbols in plans], is_forced)


def rounded_up(n):
    """The length in samples that a batch of clips of up to n has."""
    quarter = RATE // 4
    return next((k * quarter for k in QUARTERS if k * quarter >= n), -(-n // quarter) * quarter)


def one_pass(source, rng, shares, is_plain):
    """Plans of clips in random order; every utterance comes once."""
    order, at = rng.permutation(len(source)), 0
    while at < len(order):
        draw, n = rng.random(), 1
        if draw < shares.pairs + shares.more:
            n = 2 if draw < shares.pairs else int(rng.integers(3, MAX_PARTS + 1))
        parts = order[at:at + n]
        while len(parts) > 1 and source.n[parts].sum() > (MAX_SECONDS - 4) * RATE * SLOWEST:
            parts = parts[:-1]
        at += len(parts)
        yield plan(source, rng, parts, is_plain, shares.cut_in_pair)
        if int(parts[0]) in source.cuts and rng.random() < shares.cut:
            yield plan_cut(source, rng, int(parts[0]))
        if rng.random() < shares.silent:
            yield plan_silence(rng)


def stream(source, rng, seconds, is_plain=False):
    """Batches without end: clips wait until there are enough of about one length, `seconds` of them together."""
    shares, waiting = PLAIN if is_plain else Shares(), {}
    while True:
        for one in one_pass(source, rng, shares, is_plain):
            length = rounded_up(one[1])
            group = waiting.setdefault(length, [])
            group.append(one)
            if len(group) >= max(1, int(seconds * RATE) // length):
                waiting[length] = []
                yield gather_clips(group, [bool(x) for x in rng.random(len(group)) < shares.forced])
