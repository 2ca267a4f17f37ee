"""Writes tests/speaker/tiny.gguf, a verifier of random weights, and what it makes of a wave: tests/speaker/tiny.json.

    python3 make_fixture.py

The wave is that of tests/speaker/speaker_verifier_test.cpp; two lengths, one of them shorter than the shortest clip.
"""

import json
from pathlib import Path

import numpy as np
import torch

import model as speaker

FOLDER = Path(__file__).resolve().parent.parent.parent / "tests" / "speaker"


def wave(n):
    t = np.arange(n) / speaker.RATE
    tone = 0.3 * np.sin(2 * np.pi * (200 * t + 40 * t * t)) + 0.1 * np.sin(2 * np.pi * 1700 * t) * np.sin(2 * np.pi * 3 * t)
    return torch.from_numpy(tone.astype(np.float32))


def main():
    torch.manual_seed(5)
    net = speaker.Verifier(speaker.Config(n_channel=6, n_embd=5, n_layer=2, kernel=3, stride=2))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    FOLDER.mkdir(exist_ok=True)
    speaker.write(FOLDER / "tiny.gguf", net, 0.25)
    shipped, _ = speaker.read(FOLDER / "tiny.gguf")               # as rounded to f16
    with torch.no_grad():
        rows = {str(n): shipped(speaker.features(wave(n)[None], speaker.mel_filters()))[0].tolist() for n in (20001, 3000)}
    (FOLDER / "tiny.json").write_text(json.dumps({"embeddings": rows}, indent=1) + "\n", encoding="utf-8")
    print(rows)


if __name__ == "__main__":
    main()
