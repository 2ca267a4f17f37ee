"""Draws speed over depth as an SVG: a panel for each model and test, a line for each program, both axes logarithmic.

Colours have the same contrast on white and on black, so that the picture needs no background of its own.
"""
import math
from xml.sax.saxutils import escape

TEXT, GRID = "#7b8088", "#9097a055"
COLOURS = {"Parlance": "#2f80ed", "llama.cpp": "#e0701a", "fork": "#a05fd0", "bound": TEXT}
PANEL_WIDTH, PANEL_HEIGHT = 200, 190
LEFT, TOP, GAP_X, GAP_Y, BOTTOM = 64, 76, 46, 52, 46
MIN_WIDTH = 660  # of the legend
FONT = "font-family='system-ui, sans-serif'"


def _depth_label(depth):
    return f"{depth // 1024}k" if depth >= 1024 and depth % 1024 == 0 else str(depth)


class _Axis:
    """Maps values to pixels by their logarithm."""

    def __init__(self, low, high, start, end):
        self.low, self.span = math.log(low), max(math.log(high) - math.log(low), 1e-9)
        self.start, self.end = start, end

    def at(self, value):
        return self.start + (self.end - self.start) * (math.log(value) - self.low) / self.span


def _ticks(low, high):
    """1, 2 and 5 times powers of ten; only the powers where there would be too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    return ticks if len(ticks) <= 8 else [t for t in ticks if math.isclose(math.log10(t) % 1, 0, abs_tol=1e-9)]


def _text(x, y, words, anchor="middle", size=11, colour=TEXT, extra=""):
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{colour}' {FONT} {extra}>"
            f"{escape(words)}</text>")


def _line(points, colour, dashed, width):
    dash = " stroke-dasharray='5 4'" if dashed else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}'{dash}/>"]
    if not dashed:
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.6' fill='{colour}'/>" for x, y in points]
    return parts


def _panel(left, top, title, series, depths, y_range, shows_depth_name):
    """series: {name: {depth: value}}"""
    right, bottom = left + PANEL_WIDTH, top + PANEL_HEIGHT
    # Depth 0 has no logarithm: it stands an octave below the first depth.
    deep = [depth for depth in depths if depth > 0] or [1024]
    zero = deep[0] / 2
    x = _Axis(zero, max(deep), left + 10, right - 10)
    y = _Axis(*y_range, bottom, top)
    parts = [_text((left + right) / 2, top - 8, title, size=13)]
    for tick in _ticks(*y_range):
        parts.append(f"<line x1='{left}' x2='{right}' y1='{y.at(tick):.1f}' y2='{y.at(tick):.1f}' stroke='{GRID}'/>")
        parts.append(_text(left - 6, y.at(tick) + 4, f"{tick:g}", "end"))
    parts.append(f"<rect x='{left}' y='{top}' width='{PANEL_WIDTH}' height='{PANEL_HEIGHT}' fill='none' "
                 f"stroke='{GRID}'/>")
    for depth in depths:
        parts.append(_text(x.at(depth or zero), bottom + 15, _depth_label(depth)))
    if shows_depth_name:
        parts.append(_text((left + right) / 2, bottom + 32, "tokens in the context before"))
    for name, values in series.items():
        points = [(x.at(depth or zero), y.at(value)) for depth, value in sorted(values.items())]
        parts += _line(points, COLOURS.get(name, TEXT), name == "bound", 2.4 if name == "Parlance" else 1.6)
    return parts


def _range(panels):
    values = [value for series in panels for points in series.values() for value in points.values()]
    return min(values) / 1.2, max(values) * 1.2


def _legend(names, x, y):
    parts = []
    for name in names:
        parts += _line([(x, y - 4), (x + 22, y - 4)], COLOURS.get(name, TEXT), name == "bound", 2)
        label = "bound of the machine" if name == "bound" else name
        parts.append(_text(x + 28, y, label, "start", 12))
        x += 52 + 7 * len(label)
    return parts


def draw(title, columns, tests):
    """columns: {model: {test: {name: {depth: value}}}}; tests: {test: words}. Yields the SVG's text."""
    tests = {test: words for test, words in tests.items() if any(test in panels for panels in columns.values())}
    width = max(LEFT + len(columns) * (PANEL_WIDTH + GAP_X), MIN_WIDTH)
    height = TOP + len(tests) * (PANEL_HEIGHT + GAP_Y) - GAP_Y + BOTTOM
    used = [series for panels in columns.values() for series in panels.values()]
    names = [n for n in dict.fromkeys(name for series in used for name in series) if n != "bound"] + ["bound"]
    depths = sorted({depth for series in used for points in series.values() for depth in points})
    parts = [_text(LEFT, 22, title, "start", 15), *_legend(names, LEFT, 46)]
    for row, (test, words) in enumerate(tests.items()):
        top = TOP + row * (PANEL_HEIGHT + GAP_Y)
        y_range = _range([panels[test] for panels in columns.values() if test in panels])
        middle = top + PANEL_HEIGHT / 2
        parts.append(_text(16, middle, f"{words}, tokens/s", size=12, extra=f"transform='rotate(-90 16 {middle})'"))
        for column, (model, panels) in enumerate(columns.items()):
            if test in panels:
                parts += _panel(LEFT + column * (PANEL_WIDTH + GAP_X), top, model if row == 0 else "", panels[test],
                                depths, y_range, row == len(tests) - 1)
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
            f"viewBox='0 0 {width} {height}' role='img'>\n<title>{escape(title)}</title>")
    return "\n".join([head, *parts, "</svg>\n"])
