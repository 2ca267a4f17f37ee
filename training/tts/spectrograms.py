"""A picture of held-out sentences: the synthesizer's own speech, and beside it what the demo makes of the text.

    python3 spectrograms.py --corpus run/corpus/held-voice --parlance ../../build/release/bin/parlance --out spectrograms.png

The corpus has constant edges (../speech/generate.py). Needs Pillow.
"""

import argparse
from pathlib import Path
import subprocess
import tempfile
import wave

import numpy as np
from PIL import Image, ImageDraw
import torch

import paths  # noqa: F401
from codes import at_one_level      # finds ../codec, too
from corpus import Corpus
from losses import LogMel
from voice_words import attributes_and_presets

N_MELS, HOP = 64, 240
GAP, TITLE = 4, 13                  # pixels
LOWEST, HIGHEST = -2.2, 1.0         # log10 of the magnitude


def picture(sound, n_columns):
    """(N_MELS, n_columns) uint8, low frequencies at the bottom."""
    mel = LogMel(1024, N_MELS, hop=HOP)(torch.from_numpy(sound)[None])[0].numpy()[::-1]
    grey = np.clip((mel - LOWEST) / (HIGHEST - LOWEST), 0, 1) * 255
    out = np.zeros((N_MELS, n_columns), np.uint8)
    n = min(n_columns, grey.shape[1])
    out[:, :n] = grey[:, :n]
    return out


def spoken(parlance, text, voice):
    """What the demo says, at the level of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "said.wav"
        subprocess.run([parlance, "say", "--voice", voice, "--steps", "16", "--raw", "-o", file, text], check=True)
        with wave.open(str(file)) as sound:
            samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
    return at_one_level(samples).astype(np.float32) / 32768


def chosen(corpus, voices, n):
    """The first sentences of about three seconds, the voices in turn."""
    rows, taken = [], set()
    for k in range(n):
        voice = voices[k % len(voices)]
        rows.append(next(i for i in range(len(corpus)) if corpus.voice[i] == voice and i not in taken and
                         55 <= corpus.n24[i] // 960 <= 95))
        taken.add(rows[-1])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--parlance", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--sentences", type=int, default=10)
    a = parser.parse_args()
    corpus, voices = Corpus(a.corpus), attributes_and_presets()[1]
    rows = chosen(corpus, voices, a.sentences)
    n_columns = max(corpus.n24[i] for i in rows) // HOP
    height = TITLE + N_MELS + GAP
    image = Image.new("L", (2 * n_columns + GAP, height * len(rows)), 255)
    draw = ImageDraw.Draw(image)
    for k, i in enumerate(rows):
        draw.text((2, k * height), f"{corpus.voice[i]}: {corpus.text[i]}", fill=0)
        for part, sound in enumerate((corpus.utterance(i, 24), spoken(a.parlance, corpus.text[i], corpus.voice[i]))):
            place = part * (n_columns + GAP), k * height + TITLE
            image.paste(Image.fromarray(picture(np.ascontiguousarray(sound), n_columns)), place)
    image.quantize(32).save(a.out, optimize=True)


if __name__ == "__main__":
    main()
