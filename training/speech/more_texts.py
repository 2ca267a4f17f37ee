"""More lines for `parlance eval tts`: sentences held out from all training, for the voices and recordings of a set.

    python3 more_texts.py --set ../../models/demo-eval/texts.jsonl --texts 230 --cloned 70 > more.jsonl
"""

import argparse
import json
from pathlib import Path
import random

import sentences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", required=True, type=Path, help="whose voices speak")
    parser.add_argument("--texts", type=int, default=230)
    parser.add_argument("--cloned", type=int, default=70, help="of these, like recordings")
    parser.add_argument("--seed", type=int, default=11)
    a = parser.parse_args()
    lines = [json.loads(line) for line in a.set.read_text(encoding="utf-8").splitlines()]
    folder = a.set.resolve().parent
    own = list({line["voice"]: line for line in lines if "voice" in line}.values())
    cloned = list({line["ref"]: line for line in lines if "ref" in line}.values())
    known, rng, said = {line["text"] for line in lines}, random.Random(a.seed), set()
    while len(said) < a.texts:
        text = sentences.sentence(rng, "held", "tts")
        if text in known or text in said:
            continue
        groups = cloned if len(said) >= a.texts - a.cloned else own
        line = dict(groups[len(said) % len(groups)], text=text)
        said.add(text)
        for name in ("ref", "compare"):
            if name in line:
                line[name] = str(folder / line[name])
        print(json.dumps(line))


if __name__ == "__main__":
    main()
