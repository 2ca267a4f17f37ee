"""Codes of a whole corpus: [8, frames] uint16, an utterance at frames start24 / 960 .. + n24 / 960.

    python3 encode.py --checkpoint run/codec.gguf --corpus DIR --out codes.npy

A batch has utterances of one length only, so that each is coded as it would be alone (normalisation over time and attention
see the whole utterance).
"""

import argparse
import os
import time

import numpy as np
import torch

import crops     # finds the corpus module
from corpus import Corpus
import gguf_file


@torch.no_grad()
def encode(codec, corpus, device, batch_seconds, log=print):
    hop = codec.config.hop
    audio = torch.from_numpy(np.array(corpus.audio(24)))
    codes = np.zeros((codec.config.n_codebook, len(audio) // hop), np.uint16)
    begin = shown = time.monotonic()
    n_done = 0
    for n in np.unique(corpus.n24):
        same = np.flatnonzero(corpus.n24 == n)
        n_batch = max(1, int(batch_seconds * codec.config.sample_rate_hz / n))
        for first in range(0, len(same), n_batch):
            starts = corpus.start24[same[first:first + n_batch]]
            sound = torch.stack([audio[start:start + n] for start in starts]).to(device).float() / 32768
            found = codec.encode(sound).to(torch.int32).cpu().numpy().astype(np.uint16)
            for start, rows in zip(starts, found):
                codes[:, start // hop:start // hop + n // hop] = rows
            n_done += len(starts)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                log(f"{shown - begin:6.1f} s  {n_done} of {len(corpus)} utterances", flush=True)
    return codes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="checkpoint.pt or a GGUF file")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--batch-seconds", type=float, help="of sound at once (default: 600 on a GPU, 30 else)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    # Near ties are decided as on other machines only in full precision.
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    device = torch.device(a.device)
    corpus = Corpus(a.corpus)
    seconds = a.batch_seconds or (600 if device.type == "cuda" else 30)
    codes = encode(gguf_file.load(a.checkpoint, device), corpus, device, seconds)
    unfinished = a.out + ".unfinished"
    with open(unfinished, "wb") as file:
        np.save(file, codes)
    os.replace(unfinished, a.out)
    print(f"{a.out}: {codes.shape[0]} x {codes.shape[1]} codes, {corpus.hours():.2f} hours", flush=True)


if __name__ == "__main__":
    main()
