"""Writes the weighted mean of two codecs, of which one was trained from the other: of their decoders, the rest being the first's, or
with --whole of all but the quantisers, which are the same.

    python3 average.py hearing/codec.gguf run/codec.gguf --share 0.85 --out codec.gguf
"""

import argparse

import torch

import gguf_file
from trainer import MAKES_SOUND, MEANS_CODES


def average(first, second, share, is_whole=False):
    weights, others = first.state_dict(), second.state_dict()
    if is_whole and not all(torch.equal(x, others[name]) for name, x in weights.items() if name.startswith(MEANS_CODES)):
        raise ValueError("the codes of these codecs mean something else")
    moves = lambda name: not name.startswith(MEANS_CODES) if is_whole else name.startswith(MAKES_SOUND)
    first.load_state_dict({name: share * x + (1 - share) * others[name] if moves(name) else x for name, x in weights.items()})
    return first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--share", type=float, required=True, help="of the first one, 0 to 1")
    parser.add_argument("--whole", action="store_true", help="encoders, too")
    parser.add_argument("--out", required=True)
    a = parser.parse_args()
    if not 0 <= a.share <= 1:
        parser.error(f"--share is {a.share}; it must lie between 0 and 1")
    gguf_file.write(a.out, average(gguf_file.load(a.first), gguf_file.load(a.second), a.share, a.whole))


if __name__ == "__main__":
    main()
