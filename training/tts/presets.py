"""Writes the demo's voice presets, cache/voice-preset-ID.bin (version 2): voices by words, and cloned ones.

    python3 presets.py --out models/demo/cache --corpus DIR --codes codes.npy --clone slt awb

A cloned voice holds the codes and the words of one utterance of about three seconds of the corpus.
"""

import argparse
import json
from pathlib import Path
import struct

import numpy as np

import paths  # noqa: F401
from corpus import Corpus
from prompt import instruct_of
from spoken_form import to_say
from voice_words import attributes_and_presets

MAGIC, VERSION, HEADER_BYTES = 0x315A4C45, 2, 64
FRAMES = 75             # of a reference, about


def preset(instruct="", codes=None, reference_text="", about=None):
    """The bytes of a preset; codes: (8, n) or none."""
    reference = b"" if codes is None else struct.pack("<II", *codes.shape) + np.ascontiguousarray(codes, "<i4").tobytes()
    sections = [b"", b"", reference, reference_text.encode(), instruct.encode(), json.dumps(about or {}).encode()]
    head, offset = struct.pack("<II", MAGIC, VERSION), HEADER_BYTES
    for section in sections:
        head += struct.pack("<II", offset if section else 0, len(section))
        offset += len(section)
    return head + bytes(HEADER_BYTES - len(head)) + b"".join(sections)


def reference_of(voice, corpus, codes):
    """(codes (8, n), text) of the utterance nearest to FRAMES whose text is said as it is written."""
    rows = [n for n in range(len(corpus)) if corpus.voice[n] == voice and to_say(corpus.text[n]) == corpus.text[n]]
    if not rows:
        raise SystemExit(f"the corpus has no utterance of {voice} in plain words")
    best = min(rows, key=lambda n: abs(corpus.n24[n] // 960 - FRAMES))
    start = corpus.start24[best] // 960
    return codes[:, start:start + corpus.n24[best] // 960], corpus.text[best]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--presets", help="names with commas, the default one first (default: those of training/speech)")
    parser.add_argument("--corpus")
    parser.add_argument("--codes")
    parser.add_argument("--clone", nargs="*", default=[], help="voices of the corpus to keep as codes: clone-NAME")
    a = parser.parse_args()
    attributes, names = attributes_and_presets(a.presets)
    files = {name: preset(instruct_of(attributes[name]), about={"voice": name}) for name in names}
    files["default"] = files[names[0]]
    if a.clone:
        corpus, codes = Corpus(a.corpus), np.load(a.codes, mmap_mode="r")
        for voice in a.clone:
            files["clone-" + voice] = preset("", *reference_of(voice, corpus, codes), about={"voice": voice, "from": "codes"})
    folder = Path(a.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"voice-preset-{name}.bin").write_bytes(data)
        print(f"voice-preset-{name}.bin: {len(data)} bytes")


if __name__ == "__main__":
    main()
