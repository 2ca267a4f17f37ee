"""Rounds in which programs run in turn (A B A B): running one when the machine is quiet, and keeping what was measured.

A run is a dict of figures with "program", "build" and "is_quiet".
"""
import dataclasses
import json
import os
import sys

import quiet_process

TRIES = 3  # of a run that others disturb


def say(message):
    print(message, file=sys.stderr, flush=True)


def run_quietly(command):
    """(output, how quiet it was) of the quietest of some tries."""
    best = None
    for _ in range(TRIES):
        quiet_process.wait_for_quiet(10)
        outcome = quiet_process.run(command)
        if outcome.error:
            sys.exit(outcome.error)
        if best is None or outcome.others < best.others:
            best = outcome
        if best.is_quiet:
            break
    return best.output, {"is_quiet": best.is_quiet, "others": round(best.others, 4)}


def kept(runs):
    """The runs that had the machine to themselves; all, if none had."""
    return [run for run in runs if run["is_quiet"]] or runs


def load(path, head, builds):
    """What an earlier run of the same programs has measured. `head`: what else must be the same."""
    empty = {"head": head, "commands": [], "runs": []}
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except (OSError, ValueError):
        return empty
    if stored["head"] != head:
        return empty
    stored["runs"] = [run for run in stored["runs"] if run["build"] == builds.get(run["program"])]
    return stored


def save(path, stored, rows):
    stored["rows"] = [dataclasses.asdict(row) for row in rows]
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(stored, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "a processor")


def seconds(value):
    return "-" if value is None else f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.2f} s"


def text(lines):
    """Lines of cells in columns."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)
