"""What the demo's speech models are measured with: models/demo-eval/speech and texts.jsonl, from corpora of held-out sentences.

    python3 generate.py --out SEEN --hours 0.1 --seed 7 --split held --voices seen
    python3 generate.py --out UNSEEN --hours 0.1 --seed 8 --split held --voices unseen
    python3 eval_set.py --seen SEEN --unseen UNSEEN --out ../../models/demo-eval

speech/ has FLAC of 16 kHz (the program flac writes it): sentences in seen and unseen voices, sentences in seen voices with
noises 10 dB below them, and recordings in which nobody speaks; no training has those noises. texts.jsonl has other sentences,
each for a voice of the demo.
"""

import argparse
import json
from pathlib import Path
import subprocess
import wave

import numpy as np
import torch

import augment
from corpus import Corpus
import voices

RATE = 16000
NOISES = [kind for kind in augment.UNSEEN_NOISES if kind != "babble"]     # nobody speaks in these


def write_flac(path, sound):
    """sound: float32 mono at RATE, within -1 and 1."""
    raw = path.with_suffix(".wav")
    with wave.open(str(raw), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((sound * 32767).clip(-32768, 32767).astype("<i2").tobytes())
    subprocess.run(["flac", "--silent", "--best", "--force", "--delete-input-file", "-o", str(path), str(raw)], check=True)


def sound_of(corpus, n):
    return corpus.audio(16)[corpus.start16[n]:corpus.start16[n] + corpus.n16[n]].astype(np.float32) / 32768


def recordings(seen, unseen, each, seed):
    """Yields (group, text, sound)."""
    noise = augment.Noise(RATE, torch.Generator().manual_seed(seed))
    for n in range(each):
        yield "seen", seen.text[n], sound_of(seen, n)
    for n in range(each):
        yield "unseen", unseen.text[n], sound_of(unseen, n)
    for n in range(each):
        speech = torch.from_numpy(sound_of(seen, n))[None]
        mixed = augment.mix(speech, noise.draw(NOISES[n % len(NOISES)], 1, speech.shape[1]), torch.tensor([10.0]), RATE)[0]
        yield "seen 10 dB", seen.text[n], (mixed / max(1.0, float(mixed.abs().max()))).numpy()
    for n in range(each // 3):
        sound = noise.draw(NOISES[n % len(NOISES)], 1, 2 * RATE)[0]
        yield "no speech", "", (sound / sound.abs().max() * 10 ** (-0.5 - 1.5 * n * 3 / each)).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seen", required=True)
    parser.add_argument("--unseen", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--each", type=int, default=40, help="recordings of each kind")
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=3)
    a = parser.parse_args()
    seen, unseen, folder = Corpus(a.seen), Corpus(a.unseen), a.out / "speech"
    if len(seen) < a.each + a.texts or len(unseen) < a.each:
        parser.error(f"{len(seen)} and {len(unseen)} sentences are too few; make longer corpora")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "index.jsonl", "w", encoding="utf-8") as index:
        for number, (group, text, sound) in enumerate(recordings(seen, unseen, a.each, a.seed)):
            write_flac(folder / f"{number:03}.flac", sound)
            index.write(json.dumps({"audio": f"{number:03}.flac", "text": text, "group": group}) + "\n")
    names = list(voices.PRESETS)
    with open(a.out / "texts.jsonl", "w", encoding="utf-8") as texts:
        for n in range(a.texts):
            voice = names[n % len(names)]
            texts.write(json.dumps({"text": seen.text[a.each + n], "voice": voice, "group": voice}) + "\n")


if __name__ == "__main__":
    main()
