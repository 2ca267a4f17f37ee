#!/usr/bin/env python3
"""Writes the tables of src/tts/text that are data, from the facts recorded in <fixtures>/omnivoice/data:

    tools/make-tts-tables.py <fixtures>/omnivoice/data

language_table.inc      lang_map.tsv, row by row
class_weights.inc       unicode_categories.tsv, each class as its weight
script_weights.inc      script_ranges.tsv

Neighbours of equal weight become one row.
"""
import pathlib
import sys

COLUMNS = 110
CLASS_WEIGHTS = {"M": "0.0", "P": "0.5", "S": "0.5", "Z": "0.2", "N": "3.5"}
SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src/tts/text"


def rows(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def write(name, comment, entries):
    lines, line = [f"// {comment} Written by tools/make-tts-tables.py."], ""
    for entry in entries:
        if line and len(line) + 1 + len(entry) > COLUMNS:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    (SOURCES / name).write_text("\n".join(lines + [line]) + "\n", encoding="utf-8")


def main(data):
    write("language_table.inc", "Names and codes, by name.",
          [f'{{"{name}", "{code}"}},' for name, code in rows(data / "lang_map.tsv")])
    classes = []
    for first, last, letter in rows(data / "unicode_categories.tsv"):
        first, last, weight = int(first, 16), int(last, 16), CLASS_WEIGHTS[letter]
        if classes and classes[-1][1] + 1 == first and classes[-1][2] == weight:
            first = classes.pop()[0]
        classes.append((first, last, weight))
    write("class_weights.inc", "First and last code point and their weight.",
          [f"{{0x{first:X}, 0x{last:X}, {weight}f}}," for first, last, weight in classes])
    scripts = []
    for end, _, weight in rows(data / "script_ranges.tsv"):
        if scripts and scripts[-1][1] == weight:
            scripts.pop()
        scripts.append((end, weight))
    write("script_weights.inc", "Last code point and the weight up to it.",
          [f"{{0x{int(end, 16):X}, {weight}f}}," for end, weight in scripts])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
