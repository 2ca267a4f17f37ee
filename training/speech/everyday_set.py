"""Recordings for `parlance eval asr`: what people say every day, in sentences that were written one by one (everyday_held.txt)
and that no generator makes, in voices of training and in the one of festival that no training has.

    python3 everyday_set.py --out ../../models/demo-eval/everyday --seen 80 --unseen 40

Needs opusenc (Debian: opus-tools).
"""

import argparse
import json
from pathlib import Path
import random

import generate
from opus import write_opus
from resample import resample
import voices

RATE = 16000
UNSEEN_VOICE = "slt-hts"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--texts", type=Path, default=Path(__file__).parent / "everyday_held.txt", help="a sentence a line")
    parser.add_argument("--seen", type=int, default=240, help="sentences in known voices, at even distances")
    parser.add_argument("--unseen", type=int, default=240, help="in the unknown voice")
    parser.add_argument("--seed", type=int, default=5)
    a = parser.parse_args()
    texts = a.texts.read_text(encoding="utf-8").split("\n")[:-1]
    rng, (names, weights) = random.Random(a.seed), voices.choices("seen")
    a.out.mkdir(parents=True, exist_ok=True)
    number = 0
    with open(a.out / "index.jsonl", "w", encoding="utf-8") as index:
        for group, n in (("everyday", a.seen), ("everyday, unknown voice", a.unseen)):
            for k in range(n):
                text = texts[k * len(texts) // n]
                voice = rng.choices(names, weights)[0] if group == "everyday" else UNSEEN_VOICE
                sound, _ = generate.utterance(rng, text, voice, generate.draw_pace(rng, 0.3))
                name = f"{number:03}.opus"
                write_opus(a.out / name, resample(sound, 24000, RATE))
                index.write(json.dumps({"audio": name, "text": text, "group": group}) + "\n")
                number += 1


if __name__ == "__main__":
    main()
