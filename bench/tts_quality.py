#!/usr/bin/env python3
"""Writes what `parlance eval tts` and `parlance bench say` measured of the qualities of speech: tables as Markdown, and quality
over time as an SVG.

    parlance eval tts --set texts.jsonl --quality exact,exact@7,standard,fast --json > docs/tts-quality.json
    parlance bench say -m FOLDER --quality exact --quality standard --quality fast --json > docs/tts-quality-speed.json
    python3 bench/tts_quality.py docs/tts-quality

docs/tts-quality-threads.json is like docs/tts-quality-speed.json, of a machine with more processors. Replaces what stands between
the marks "<!-- NAME -->" and "<!-- /NAME -->" of docs/tts-quality.md by what these files have.
"""
import json
import re
import sys
from xml.sax.saxutils import escape

TEXT, GRID = "#7b8088", "#9097a055"
JUDGES = (("points", "our recogniser", "#2f80ed"), ("second_judge_points", "PocketSphinx", "#e0701a"))
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 420, 64, 56, 24, 46


def _text(x, y, words, anchor="middle", size=11, colour=TEXT):
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{colour}' "
            f"font-family='system-ui, sans-serif'>{escape(words)}</text>")


def interval(value, digits, percent=""):
    if not value:
        return "-"
    return f"{value['value']:+.{digits}f}{percent} ({value['low']:+.{digits}f} to {value['high']:+.{digits}f})"


def share(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def quality_tables(ways):
    rows = ["| quality | word errors | points (95 %) | second judge | points (95 %) | likeness | less (95 %) |",
            "|---|---:|---:|---:|---:|---:|---:|"]
    for way in ways:
        likeness = "-" if "likeness" not in way else f"{way['likeness']:.3f}"
        rows.append(f"| {way['quality']} | {share(way['word_error_rate'])} | {interval(way.get('points'), 2)} | "
                    f"{share(way.get('second_judge_word_error_rate'))} | {interval(way.get('second_judge_points'), 2)} | "
                    f"{likeness} | {interval(way.get('likeness_difference'), 3)} |")
    rows += ["", "| quality | equal codes | of the coarsest | mel distance | columns a second of speech |", "|---|---:|---:|---:|---:|"]
    for way in ways:
        distance = "-" if "mel_distance_db" not in way else f"{way['mel_distance_db']:.1f} dB"
        rows.append(f"| {way['quality']} | {share(way.get('equal_codes'))} | {share(way.get('equal_coarse_codes'))} | {distance} | "
                    f"{way['columns_per_second']:.0f} |")
    return "\n".join(rows)


def speed_table(speed):
    rows = ["| threads | speech | quality | passes | columns | a column | first sound | network | codec | real-time factor |",
            "|---:|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for run in speed["runs"]:
        for case in run["whole"]:
            rows.append(f"| {run['threads']} | {case['case']}, {case['audio_seconds']:.1f} s | {case['quality']} | {case['passes']} | "
                        f"{case['columns']} | {1e3 * case['model_seconds'] / case['columns']:.2f} ms | "
                        f"{case['first_sound_seconds']:.2f} s | {case['model_seconds']:.2f} s | {case['codec_seconds']:.2f} s | "
                        f"{case['real_time_factor']:.2f} |")
    return "\n".join(rows)


def plot(ways):
    ways = [way for way in ways if "points" in way or way is ways[0]]
    most_x = 1.08 * max(way["columns_per_second"] for way in ways)
    ends = [way[key][end] for way in ways for key, _, _ in JUDGES if key in way for end in ("low", "high")] + [0, 1.5]
    low, high = min(ends) - 0.3, max(ends) + 0.3

    def x_of(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * value / most_x

    def y_of(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    parts = [_text(LEFT, 22, "Word errors more than in exact quality, over what the network computes", "start", 14)]
    for number, (_, judge, colour) in enumerate(JUDGES):
        parts.append(f"<circle cx='{LEFT + 4 + 140 * number}' cy='38' r='4' fill='{colour}'/>")
        parts.append(_text(LEFT + 14 + 140 * number, 42, judge, "start", 12))
    tick = round(low)
    while tick <= high:
        if tick >= low:
            parts.append(f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y_of(tick):.1f}' y2='{y_of(tick):.1f}' stroke='{GRID}'/>")
            parts.append(_text(LEFT - 8, y_of(tick) + 4, f"{tick:+d}", "end"))
        tick += 1
    for tick in range(0, int(most_x), 200):
        parts.append(_text(x_of(tick), HEIGHT - BOTTOM + 16, str(tick)))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 10, "columns for a second of speech"))
    for way in ways:
        x = x_of(way["columns_per_second"])
        tops = []
        for number, (key, _, colour) in enumerate(JUDGES):
            value = way.get(key) or {"value": 0, "low": 0, "high": 0}
            at = x + 5 * (2 * number - 1)
            parts.append(f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{y_of(value['low']):.1f}' y2='{y_of(value['high']):.1f}' "
                         f"stroke='{colour}' stroke-width='1.6'/>")
            parts.append(f"<circle cx='{at:.1f}' cy='{y_of(value['value']):.1f}' r='4' fill='{colour}'/>")
            tops.append(y_of(value["high"]))
        parts.append(_text(x, min(tops) - 8, way["quality"].split(":")[0] + ("*" if ":" in way["quality"] else "")))
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}' "
            f"role='img'>\n<title>Quality of speech over its cost</title>")
    return "\n".join([head, *parts, "</svg>\n"])


def put_between(text, name, words):
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    if not re.search(pattern, text, re.S):
        sys.exit(f"there is no place for {name}: expected <!-- {name} --> and <!-- /{name} -->")
    return re.sub(pattern, lambda match: match[1] + words + "\n" + match[2], text, flags=re.S)


def read(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    base = sys.argv[1]
    ways = read(base + ".json")["qualities"]
    with open(base + ".md", encoding="utf-8") as file:
        text = file.read()
    text = put_between(text, "quality", quality_tables(ways))
    for name in ("speed", "threads"):
        text = put_between(text, name, speed_table(read(f"{base}-{name}.json")))
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(plot([way for way in ways if "@" not in way["quality"]]))


if __name__ == "__main__":
    main()
