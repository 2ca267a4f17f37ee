"""Recordings that say where speech is: voices and noises that training does not have, at several signal-to-noise ratios.

    python3 eval_set.py --corpus HELD --out DIR

writes DIR/NNN.flac (with the program flac) and DIR/labels.jsonl, which `parlance eval vad --set DIR` scores.
"""

import argparse
import json
from pathlib import Path

import torch

from mixtures import LABEL_STEP, SEEN_NOISES, UNSEEN_NOISES, Mixer, Options     # finds ../speech, too
from flac import write_flac
import scores

RATIOS_DB = (-5, 0, 5, 10, 20, 30)


def recordings(mixer, seed, seconds_each, split="unseen", seconds=20.0, without=()):
    """Yields (audio, window shares, spans, snr or None, kind): `seconds_each` of every ratio, of clean speech, and three
    times that of noise alone. Speech in them is never clean and noisy at once, and the level varies."""
    noises = tuple(kind for kind in (UNSEEN_NOISES if split == "unseen" else SEEN_NOISES) if kind not in without)
    base = dict(seconds=seconds, noises=noises, level_db=(-30.0, -3.0))
    groups = [(Options(snr_db=(ratio, ratio), without_speech=0, without_noise=0, **base), ratio, 1) for ratio in RATIOS_DB]
    groups += [(Options(without_speech=0, without_noise=1, **base), None, 1), (Options(without_speech=1, **base), None, 3)]
    for number, (options, ratio, times) in enumerate(groups):
        mixer.options = options
        mixer.random.manual_seed(seed + number)
        left = round(seconds_each * times / seconds)
        while left > 0:
            n = min(left, 32)
            left -= n
            mixture = mixer.mix(n)
            for i in range(n):
                spans = scores.spans_of(mixture.speech[i].cpu().numpy(), LABEL_STEP)
                yield mixture.audio[i], mixture.windows[i].cpu().numpy(), spans, ratio if spans else None, mixture.kind[i]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder that training/speech/generate.py made of unseen voices")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds-each", type=float, default=30, help="of each of ten parts")
    parser.add_argument("--split", default="unseen", help="kinds of noise: seen or unseen")
    parser.add_argument("--without", nargs="*", default=["babble"], help="kinds of noise that are left out: babble is speech")
    a = parser.parse_args()
    torch.manual_seed(a.seed)
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    total = 0
    with open(out / "labels.jsonl", "w", encoding="utf-8") as labels:
        mixer = Mixer(a.corpus, "cpu", a.seed)
        parts = recordings(mixer, a.seed, a.seconds_each, a.split, seconds=min(20.0, a.seconds_each), without=a.without)
        for number, (audio, _, spans, ratio, kind) in enumerate(parts):
            name = f"{number:03}.flac"
            write_flac(out / name, audio.numpy())
            labels.write(json.dumps({"audio": name, "speech": [[first / 16000, end / 16000] for first, end in spans],
                                     "snr_db": ratio, "noise": kind}) + "\n")
            total += len(audio)
    print(f"{number + 1} recordings, {total / 16000 / 60:.1f} minutes, in {out}")


if __name__ == "__main__":
    main()
