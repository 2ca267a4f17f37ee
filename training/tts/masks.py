"""Which slots of a document are known in training: mostly the states that decoding goes through."""

import numpy as np

from speech_lm import N_CODEBOOK


def race_times():
    """Share of decided slots -> time of a race in which a slot of codebook k is decided at rate e^-k.

    That is the order in which decoding with layer penalty 5 and position temperature 5 decides slots.
    """
    tau = np.concatenate([[0], np.geomspace(1e-3, 2e4, 400)])
    share = (1 - np.exp(-tau[:, None] * np.exp(-np.arange(N_CODEBOOK)))).mean(1)
    return share, tau


RACE_SHARE, RACE_TIME = race_times()
T_SHIFT, STEPS = 0.1, (12, 16, 16, 16, 24, 32)      # of decoding
FIRST_FRAMES, BLOCK_FRAMES = 32, 64                 # of blocks that are decided one after the other
IN_BLOCKS, IN_SMALL_BLOCKS = 0.35, 0.4              # share of documents decided so; of these, behind the first one, too


def known_shares(rng, n):
    """(n, 8) probability that a slot of the codebook is already decided, for n documents.

    Half are states of the race that a step of decoding meets. Three in ten are between coarse and fine codebooks, as
    decoding with little position temperature is. One in ten knows nothing or some codes of the first codebook, one
    knows every slot equally well.
    """
    kind, steps = rng.random(n), rng.choice(STEPS, n)
    shift = np.where(rng.random(n) < 0.7, T_SHIFT, np.exp(rng.uniform(np.log(0.1), 0, n)))
    t = rng.integers(0, steps) / steps
    shares = shift * t / (1 + (shift - 1) * t)
    race = 1 - np.exp(-np.interp(shares, RACE_SHARE, RACE_TIME)[:, None] * np.exp(-np.arange(N_CODEBOOK)))
    draws = rng.random((n, 1))
    frontier = np.clip(rng.choice(N_CODEBOOK, n, p=[.3, .2, .14, .1, .08, .07, .06, .05])[:, None] + draws
                       - np.arange(N_CODEBOOK), 0, 1)
    first = np.maximum(0, 2 * draws - 1) * (np.arange(N_CODEBOOK) == 0)     # half of them know nothing
    even = np.repeat(np.cos(np.pi / 2 * draws), N_CODEBOOK, 1)
    return np.select([(kind < 0.5)[:, None], (kind < 0.8)[:, None], (kind < 0.9)[:, None]], [race, frontier, first],
                     even).astype(np.float32)


def block_ends(n_frames, first, others):
    """Where blocks end: the first one's frames, blocks of `others` frames (0: none), and what is left, which is no small rest."""
    ends, size = [], first
    while size and n_frames - (ends[-1] if ends else 0) >= size + size // 2:
        ends.append((ends[-1] if ends else 0) + size)
        size = others
    return [*ends, n_frames]


def blocks(rng, n_frames):
    """(n, 2): the frames that documents of so many frames are at; before them all is known, and behind them nothing. They are all
    frames, but where decoding goes block by block."""
    out = np.stack([np.zeros_like(n_frames), n_frames], 1)
    for number in np.flatnonzero(rng.random(len(n_frames)) < IN_BLOCKS):
        ends = block_ends(int(n_frames[number]), FIRST_FRAMES, BLOCK_FRAMES if rng.random() < IN_SMALL_BLOCKS else 0)
        block = rng.integers(len(ends))
        out[number] = ends[block - 1] if block else 0, ends[block]
    return out
