"""Writes a codec whose decoder is the weighted mean of two codecs', of which one was trained from the other; the rest is the first's.

    python3 average.py hearing/codec.gguf run/codec.gguf --share 0.85 --out codec.gguf
"""

import argparse

import gguf_file
from trainer import MAKES_SOUND


def average(first, second, share):
    weights, others = first.state_dict(), second.state_dict()
    first.load_state_dict({name: share * x + (1 - share) * others[name] if name.startswith(MAKES_SOUND) else x
                           for name, x in weights.items()})
    return first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--share", type=float, required=True, help="of the first one's decoder, 0 to 1")
    parser.add_argument("--out", required=True)
    a = parser.parse_args()
    if not 0 <= a.share <= 1:
        parser.error(f"--share is {a.share}; it must lie between 0 and 1")
    gguf_file.write(a.out, average(gguf_file.load(a.first), gguf_file.load(a.second), a.share))


if __name__ == "__main__":
    main()
