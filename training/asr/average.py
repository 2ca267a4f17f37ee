"""Writes the weighted mean of recognisers that were trained from one another: often better than each of them.

    python3 average.py first=0.1 second=0.45 third=0.45 --out bundle/asr

Each is a folder with a recogniser's two files; weights are divided by their sum.
"""

import argparse
from pathlib import Path

import torch

import export
from gguf import F16
from network import Config, Recogniser


def average(parts):
    """parts: [(folder, weight)]; a model. What smaller ones lack they take from the larger before, so that it adds nothing."""
    total, model = sum(weight for _, weight in parts), Recogniser(Config())
    mean = {name: torch.zeros_like(x) for name, x in model.named_parameters()}
    size = lambda part: -sum(file.stat().st_size for file in Path(part[0]).glob("*.gguf"))
    for folder, weight in sorted(parts, key=size):
        export.load_shipped(folder, model)
        for name, x in model.named_parameters():
            mean[name] += x.detach() * (weight / total)
    with torch.no_grad():
        for name, x in model.named_parameters():
            x.copy_(mean[name])
    return model


def part(text):
    folder, _, weight = text.rpartition("=")
    if not folder or not Path(folder).is_dir() or float(weight) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: a folder of a recogniser and its weight above 0 are wanted, as bundle/asr=0.5")
    return folder, float(weight)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", type=part, metavar="FOLDER=WEIGHT")
    parser.add_argument("--out", required=True, help="folder for the two files")
    parser.add_argument("--f16", action="store_true", help="matrices in F16, to be quantised further")
    a = parser.parse_args()
    print(export.write(a.out, average(a.parts), *([(F16, F16)] if a.f16 else [])))


if __name__ == "__main__":
    main()
