"""Codes of spectrograms, to begin a training with before there is a codec.

    python3 stand_in_codes.py --corpus FIRST OTHERS ...     writes FOLDER.stand-in.npy for each: uint16 (8, frames)

A frame of 40 ms is four columns of a log-mel spectrogram. Each level has the k-means of what the levels before it leave over
of FIRST, as a codec's quantisers have. What a speech model learns from them, above all which frames belong to which part of
the text, holds for a codec's codes too: train.py --start-from CHECKPOINT --new-codes.
"""

import argparse
import os
from pathlib import Path
import sys

import numpy as np
import torch

import paths
from corpus import SAMPLES_PER_FRAME_24K as HOP, Corpus
from speech_lm import N_CODEBOOK

sys.path.append(str(paths.TRAINING / "codec"))
from losses import LogMel  # noqa: E402

N_CODES = 512
N_MELS, COLUMNS = 40, 4             # of a spectrogram; of it in a frame
PART = 15_000                       # frames whose spectrogram is made at once
AT_ONCE = 100_000                   # frames compared with all codes at once
N_PICKED, ROUNDS = 200_000, 8       # of k-means


def frames_of(folder, device):
    """float32 (frames, COLUMNS * N_MELS) of the whole corpus."""
    corpus, mel = Corpus(folder), LogMel(1024, N_MELS, hop=HOP // COLUMNS, floor=1e-3).to(device)
    n_frames, sound = int((corpus.start24 + corpus.n24).max()) // HOP, corpus.audio(24)
    parts = []
    for first in range(0, n_frames, PART):
        n = min(PART, n_frames - first)
        part = torch.from_numpy(np.array(sound[first * HOP:(first + n) * HOP])).to(device).float() / 32768
        parts.append(mel(part[None])[0].T[:n * COLUMNS].reshape(n, -1))
    return torch.cat(parts)


def nearest(x, codes):
    return torch.cat([(2 * part @ codes.T - codes.square().sum(1)).argmax(1) for part in x.split(AT_ONCE)])


def k_means(x, generator):
    """(N_CODES, n). Sums are products of matrices: a GPU adds them in the same order each time."""
    codes = x[torch.randint(len(x), (N_CODES,), generator=generator).to(x.device)]
    numbers = torch.arange(N_CODES, device=x.device)
    for _ in range(ROUNDS):
        is_of = (nearest(x, codes)[:, None] == numbers).float()
        n = is_of.sum(0)[:, None]
        codes = torch.where(n > 0, is_of.T @ x / n.clamp_min(1), codes)
    return codes


def learn(x):
    """The codes of each level."""
    generator, levels = torch.Generator().manual_seed(0), []
    x = x[torch.randperm(len(x), generator=generator)[:N_PICKED].to(x.device)]
    for _ in range(N_CODEBOOK):
        levels.append(k_means(x, generator))
        x = x - levels[-1][nearest(x, levels[-1])]
    return levels


def encode(x, levels):
    """(uint16 (levels, frames), mean square of what is left over)."""
    found = []
    for codes in levels:
        found.append(nearest(x, codes))
        x = x - codes[found[-1]]
    return torch.stack(found).cpu().numpy().astype(np.uint16), float(x.square().mean())


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True, nargs="+", help="the first one is learnt from")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    levels = None
    for folder in a.corpus:
        x = frames_of(folder, a.device)
        levels = levels or learn(x)
        codes, left = encode(x, levels)
        left /= float(x.var(0).mean())
        out = Path(f"{folder.rstrip('/')}.stand-in.npy")
        with open(f"{out}.unfinished", "wb") as file:
            np.save(file, codes)
        os.replace(f"{out}.unfinished", out)
        print(f"{out}: {codes.shape[0]} x {codes.shape[1]} codes, {left:.1%} of the variance is left", flush=True)


if __name__ == "__main__":
    main()
