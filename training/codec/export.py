"""Writes a checkpoint's averaged weights as a GGUF file of the codec.

    python3 export.py --checkpoint run/checkpoint.pt --out codec.gguf
"""

import argparse
import os

import gguf_file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", required=True)
    a = parser.parse_args()
    gguf_file.write(a.out, gguf_file.load(a.checkpoint))
    print(f"{a.out}: {os.path.getsize(a.out)} bytes")


if __name__ == "__main__":
    main()
