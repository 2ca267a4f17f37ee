"""Questions of people who hesitate: models/demo-eval/hesitations, from the questions that the text model is scored on.

    python3 training/speech/hesitations.py --out models/demo-eval/hesitations

Half of them stop for 300 to 800 ms at a random place between two words, every other one of these after a filler; the others
have a filler and go on at once. What is before a pause is spoken as if a comma followed. The program opusenc (Debian:
opus-tools) writes Ogg Opus of 16 kHz; index.jsonl says where each pause is.
"""

import argparse
import json
from pathlib import Path
import random

import numpy as np

import generate
from opus import write_opus
from resample import resample
import voices

RATE = 16000
N, SEED, KBITS = 60, 24, 24
PAUSE_S, BREATH_S = (0.3, 0.8), (0.06, 0.12)     # of those who stop, and between a filler and what follows
BEFORE_S, BEHIND_S = 0.3, 0.3
LEVEL, FLOOR = 0.3, 1e-4                         # the loudest sample; the noise in silences
FILLERS = ("um", "uh", "hmm", "well")
MOST_LETTERS, LEAST_WORDS = 70, 4


def questions(rng, path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = {row["messages"][0]["content"] for row in rows
             if len(row["messages"]) == 1 and not row["category"].startswith("notes")}
    texts = sorted(t for t in texts if t.isascii() and len(t) <= MOST_LETTERS and len(t.split()) >= LEAST_WORDS)
    return rng.sample(texts, N)


def spoken(text, voice):
    speech = voices.synthesise(text, voice)
    return resample(speech.samples, speech.rate, RATE)


def hesitate(rng, n, text, voice):
    """(sound, [start, end] of the pause in seconds or None)."""
    words = text.split()
    at = rng.randrange(1, len(words))
    first = " ".join(words[:at]).rstrip(",.?!:;") + ","
    rest = " ".join(words[at:])
    stops = n % 2 == 0
    if not stops or n % 4 == 0:
        first += f" {rng.choice(FILLERS)},"
    silence_s = rng.uniform(*(PAUSE_S if stops else BREATH_S))
    parts = [spoken(first, voice), np.zeros(round(silence_s * RATE), np.float32), spoken(rest, voice)]
    begin = BEFORE_S + len(parts[0]) / RATE
    sound = np.concatenate([np.zeros(round(BEFORE_S * RATE), np.float32), *parts,
                            np.zeros(round(BEHIND_S * RATE), np.float32)])
    sound *= LEVEL / np.abs(sound).max()
    noise = np.random.default_rng(n).normal(0, FLOOR, len(sound)).astype(np.float32)
    return sound + noise, [round(begin, 3), round(begin + silence_s, 3)] if stops else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", default=Path(__file__).parents[2] / "models/demo-eval/text.jsonl",
                        type=Path)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    out, rng = Path(options.out), random.Random(SEED)
    out.mkdir(parents=True, exist_ok=True)
    names, weights = voices.choices("all")
    rows = []
    for n, text in enumerate(questions(rng, options.questions)):
        sound, pause = hesitate(rng, n, text, rng.choices(names, weights)[0])
        name = f"{n + 1:02d}.opus"
        write_opus(out / name, sound, RATE, KBITS)
        rows.append({"audio": name, "text": text, "pause": pause})
    (out / "index.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
