"""Draws what `parlance eval kv --json` measured: divergence from f16 over bits, as an SVG, and its table as Markdown.

    parlance eval kv --limit 50 --json > docs/kv-quality.json
    python3 bench/kv_quality.py docs/kv-quality.json docs/kv-quality.svg docs/kv-quality.md
"""
import json
import math
import re
import sys
from xml.sax.saxutils import escape

TEXT, GRID, DOT = "#7b8088", "#9097a055", "#2f80ed"
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 460, 64, 30, 24, 46
LEAST = 1e-5  # below it a divergence is drawn as this much: zero has no logarithm


def _text(x, y, words, anchor="middle", size=11):
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{TEXT}' "
            f"font-family='system-ui, sans-serif'>{escape(words)}</text>")


def short_name(options):
    """'-ctk q8_0 -ctv q8_0 --cache-rotation on' -> 'q8_0 rotated'."""
    words, name, sides = options.split(), [], []
    i = 0
    while i < len(words):
        if words[i] in ("-ctk", "-ctv"):
            sides.append(words[i + 1])
        elif words[i] == "--cache-rotation":
            name.append("rotated")
        elif words[i] == "--cache-equalise":
            name.append("as is")
        elif words[i] == "--cache-encoder":
            name.append(words[i + 1])
        elif words[i] == "--cache-recent":
            name.append("window")
        elif words[i] == "--cache":
            name.append(words[i + 1])
        i += 2
    both = [] if not sides else [sides[0] if len(set(sides)) == 1 else "/".join(sides)]
    return " ".join(both + name)


def _place_labels(dots):
    """A height for each dot's label, so that those of dots near each other do not overlap."""
    taken = []
    heights = []
    for x, y, name in dots:
        height = y + 4
        while any(abs(height - other) < 12 and x < end and begin < x + 8 + 6 * len(name)
                  for begin, end, other in taken):
            height += 12
        taken.append((x, x + 8 + 6 * len(name), height))
        heights.append(height)
    return heights


def draw(rows):
    rows = [row for row in rows if row["kl_mean"] > 0]
    bits = [row["bits_per_value"] for row in rows]
    low, high = min(bits) - 0.4, max(min(max(bits), 9) + 1.6, 5)
    rows = [row for row in rows if row["bits_per_value"] <= high]
    kl = [max(row["kl_mean"], LEAST) for row in rows]
    bottom, top = math.floor(math.log10(min(kl))), math.ceil(math.log10(max(kl)))

    def x_of(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y_of(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(value) - bottom) / (top - bottom)

    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
             "<title>Divergence from an f16 cache over bits per value</title>"]
    for power in range(bottom, top + 1):
        y = y_of(10.0**power)
        parts.append(f"<line x1='{LEFT}' y1='{y:.1f}' x2='{WIDTH - RIGHT}' y2='{y:.1f}' stroke='{GRID}'/>")
        parts.append(_text(LEFT - 8, y + 4, f"{10.0**power:g}", "end"))
    for value in range(math.ceil(low), math.floor(high) + 1):
        parts.append(_text(x_of(value), HEIGHT - BOTTOM + 18, str(value)))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "bits per value"))
    parts.append(_text(LEFT, TOP - 12, "KL divergence from f16, nats (mean)", "start"))
    dots = sorted((x_of(row["bits_per_value"]), y_of(max(row["kl_mean"], LEAST)), short_name(row["options"]))
                  for row in rows)
    dots.sort(key=lambda dot: dot[1])
    for (x, y, name), height in zip(dots, _place_labels(dots)):
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='{DOT}'/>")
        parts.append(_text(x + 8, height, name, "start", 10))
    return "\n".join(parts + ["</svg>", ""])


def _size_in(name):
    """'notes-1k' -> 1024: categories by what their names count, others last."""
    found = re.search(r"(\d+)(k?)$", name)
    return (int(found[1]) * (1024 if found[2] else 1), name) if found else (math.inf, name)


def table(report):
    rows = report["results"]
    categories = sorted(rows[0]["right"], key=_size_in)
    lines = ["| cache | bits | bytes/token | perplexity | KL mean | KL 99 % | top-1 | "
             + " | ".join(categories) + " |", "|---|" + "---:|" * (6 + len(categories))]
    for row in rows:
        right = " | ".join(f"{100 * row['right'][name]:.1f} %" for name in categories)
        lines.append(f"| {short_name(row['options'])} | {row['bits_per_value']:.2f} | {row['bytes_per_token']} | "
                     f"x {row['perplexity_ratio']:.4f} | {row['kl_mean']:.5f} | {row['kl_p99']:.4f} | "
                     f"{100 * row['top1_agreement']:.2f} % | {right} |")
    return "\n".join(lines)


BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def main():
    source, picture, page = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        report = json.load(file)
    with open(picture, "w", encoding="utf-8") as file:
        file.write(draw(report["results"]))
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    after = rest.split(END)[1]
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{table(report)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
