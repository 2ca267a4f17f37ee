"""More lines for `parlance eval tts`, for the voices and recordings of a set: sentences held out from all training, or what
people ask in a set of questions, which is everyday English, as a recogniser that was not made for templates wants it.

    python3 more_texts.py --set ../../models/demo-eval/texts.jsonl > more.jsonl
    python3 more_texts.py --set ../../models/demo-eval/texts.jsonl --questions ../../models/demo-eval/text.jsonl > everyday.jsonl
"""

import argparse
import json
from pathlib import Path
import random
import re

import sentences

LEAST_WORDS, MOST_WORDS = 4, 16


def questions(path):
    """Yields what is asked in words alone, as sentences."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["messages"][-1]["content"].strip()
        if re.fullmatch(r"[A-Za-z' ,.?!-]+", text) and LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
            text = text[0].upper() + re.sub(r"\bi\b", "I", text[1:])
            yield text if text[-1] in ".?!" else text + "."


def held_out(rng):
    while True:
        yield sentences.sentence(rng, "held", "tts")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", required=True, type=Path, help="whose voices speak")
    parser.add_argument("--texts", type=int, default=230)
    parser.add_argument("--cloned", type=int, default=70, help="of these, like recordings")
    parser.add_argument("--questions", type=Path, help="a set of questions to take texts from")
    parser.add_argument("--seed", type=int, default=11)
    a = parser.parse_args()
    lines = [json.loads(line) for line in a.set.read_text(encoding="utf-8").splitlines()]
    folder = a.set.resolve().parent
    own = list({line["voice"]: line for line in lines if "voice" in line}.values())
    cloned = list({line["ref"]: line for line in lines if "ref" in line}.values())
    known, rng, said = {line["text"] for line in lines}, random.Random(a.seed), set()
    if a.questions:
        texts = sorted(set(questions(a.questions)))
        rng.shuffle(texts)
    else:
        texts = held_out(rng)
    for text in texts:
        if len(said) == a.texts:
            break
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
