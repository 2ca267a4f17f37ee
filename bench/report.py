"""The table of bench/cpu_speed.py, for a terminal and as Markdown."""
import results as results_module
from results import BUSY

PEAKS = [("read_bytes_per_second", "read", "GB/s"), ("int8_ops_per_second", "int8", "Gop/s"),
         ("int16_ops_per_second", "int16", "Gop/s"), ("bf16_ops_per_second", "bf16", "Gop/s"),
         ("f32_ops_per_second", "f32", "Gop/s")]

EXPLANATION = """\
Speeds are tokens/s, medians of the rounds kept. A round runs every program once, one after the other; a run during
which other processes took more than 4 % of the machine is repeated, and thrown away if that does not help. A figure
with a * had no undisturbed round: it is the median of the disturbed ones. From a depth of 8192 on there are fewer
rounds.

- **ratio**: Parlance over the program to its left, the median of the ratios round by round. llama.cpp and its forks
  are run with flash attention and without; the better of the two is shown and named.
- **bound**: tokens/s that this machine allows, from the bytes that a step must read (weights once, keys and values
  once) and the operations it must do, at the peaks measured just before each run. The slower of *memory* and
  *arithmetic* sets it.
- **of bound**: how much of that Parlance reaches. Above 100 % means that the peak was measured in a worse moment than
  the speed, that the caches hold part of the weights, or, in prefill at depth, that attention ran in 16-bit integers,
  twice as fast as the f32 that the bound counts.
- **{batch} tokens / 1, time**: time of {batch} tokens computed together over the time of one: what checking drafted
  tokens costs. Less is better.
- **memory**: the most memory that a process held, in MiB, the mapped file included, with a full context of
  {memory_depth} tokens. Less is better.
- **decode, core busy**: beside a process that keeps one core busy.
"""


def _number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _marked(value, n_kept):
    return _number(value) + ("" if n_kept else " *")


def _percent(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def test_name(row, sizes):
    return {"prefill": f"prefill {sizes.prompt}", "decode": f"decode {sizes.answer}",
            "small batch": f"{sizes.batch} tokens / 1, time", "memory": "memory, MiB"}.get(row.test, row.test)


def peer_names(rows):
    return list(dict.fromkeys(name for row in rows for name in row.peers))


def titles(names):
    columns = ["test", "depth", "Parlance"]
    for name in names:
        columns += [name, "flash", "ratio"]
    return columns + ["bound", "set by", "of bound", "kept"]


def cells(row, names, sizes):
    """One line of the table."""
    line = [test_name(row, sizes), str(row.depth), _marked(row.ours, row.n_kept)]
    for name in names:
        peer = row.peers.get(name)
        if peer:
            line += [_marked(peer.value, peer.n_kept), "on" if peer.variant == "flash" else "off", f"{peer.ratio:.2f}"]
        else:
            line += ["-", "", ""]
    of_bound = "-" if row.bound is None else _percent(row.share)
    return line + [_number(row.bound), row.limit, of_bound, f"{row.n_kept}/{row.n_rounds}"]


def peaks_lines(results):
    """The roofline: a line for each number of threads."""
    lines = []
    for threads, peaks in results_module.peaks_by_threads(results).items():
        parts = [f"{name} {_number(peaks[key][0] / 1e9)} {unit} ({_number(peaks[key][1] / 1e9)} to "
                 f"{_number(peaks[key][2] / 1e9)})" for key, name, unit in PEAKS if key in peaks]
        lines.append(f"{threads_name(threads)}: " + ", ".join(parts))
    return lines


def machine_line(head):
    return f"{head['machine']['processor']}, {head['machine']['n_processors']} processors"


def groups(rows):
    """[((model, threads), rows)]"""
    table = {}
    for row in rows:
        table.setdefault((row.model, row.threads), []).append(row)
    return list(table.items())


def threads_name(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def group_title(model, threads):
    return f"{model}, {threads_name(threads)}"


def busy_lines(rows):
    """What a busy core leaves of each program's decode."""
    return [f"{group_title(row.model, row.threads)}: Parlance {_percent(row.share)}"
            + "".join(f", {name} {_percent(peer.share)}" for name, peer in row.peers.items())
            for row in rows if row.test == BUSY and row.share]


def text(results, rows, sizes):
    """The whole table for a terminal."""
    names = peer_names(rows)
    lines = [machine_line(results.head), "Peaks, medians (least to most), measured before each run:"]
    lines += ["  " + line for line in peaks_lines(results)]
    body = [cells(row, names, sizes) for row in rows]
    heads = titles(names)
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]

    def joined(line):
        return "  ".join([line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])])

    lines += ["", joined(heads), "-" * len(joined(heads))]
    for (model, threads), members in groups(rows):
        lines.append(group_title(model, threads))
        lines += [joined(cells(row, names, sizes)) for row in members]
    if busy_lines(rows):
        lines += ["", "Decode beside a process that keeps one core busy, of the quiet machine's:"]
        lines += ["  " + line for line in busy_lines(rows)]
    if any(row.n_kept == 0 or any(peer.n_kept == 0 for peer in row.peers.values()) for row in rows):
        lines += ["", "* no round had the machine to itself: how far this figure is off is not known"]
    return "\n".join(lines)


def markdown(results, rows, sizes, command, memory_depth, chart_name):
    """The page that is kept in the repository."""
    names = peer_names(rows)
    lines = ["# Speed on the CPU", "", f"Measured on {machine_line(results.head)}, by", "", f"    {command}", "",
             f"The figures of every run are in [{chart_name.replace('.svg', '.json')}]"
             f"({chart_name.replace('.svg', '.json')}). The models have the shape of Qwen3-0.6B and random weights, and"
             " keep keys and values as f16, unless the table names others.", "",
             f"![Speed by depth of context]({chart_name})", "", "## How to read it", "",
             EXPLANATION.format(batch=sizes.batch, memory_depth=memory_depth), "## Peaks of the machine", "",
             "Medians of what Parlance measured before each of its runs, and the least and the most.", ""]
    lines += ["- " + line for line in peaks_lines(results)]
    if busy_lines(rows):
        lines += ["", "## Beside a busy process", "", "What is left of decode when a process keeps one core busy:", ""]
        lines += ["- " + line for line in busy_lines(rows)]
    for (model, threads), members in groups(rows):
        lines += ["", f"## {group_title(model, threads)}", "", "| " + " | ".join(titles(names)) + " |",
                  "|---|" + "---:|" * (len(titles(names)) - 1)]
        lines += ["| " + " | ".join(cells(row, names, sizes)) + " |" for row in members]
    return "\n".join(lines) + "\n"
