#!/usr/bin/env python3
"""Whether turns end where people have finished: how many hesitating questions are cut, and how soon answers come.

    python3 bench/turn_ends.py [--parlance FILE] [--limit N] [--jobs N]

Every recording of models/demo-eval/hesitations is heard at its own pace by `parlance talk`, alone, and so are those of
models/demo-eval/conversation: with the silence that depends on what was said, and with 350 ms, and
100 until an answer is begun. People go on speaking whatever
happens, and a question is cut when its recording makes more than one turn: when an answer sounded before all was said. Prints
a table of Markdown.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
import json
from pathlib import Path
import statistics
import subprocess

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "models/demo-eval"


def turns_of(parlance, recordings, more):
    out = subprocess.run([parlance, "talk", *map(str, recordings), "--no-audio", "--json", *more], check=True,
                         capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def first_audio(turns):
    return [turn["ms"]["first_audio"] for turn in turns if "first_audio" in turn["ms"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default=str(ROOT / "build/release/bin/parlance"))
    parser.add_argument("--limit", type=int, default=1000, help="of the hesitating questions")
    parser.add_argument("--jobs", type=int, default=1, help="hesitating questions that are heard at the same time")
    parser.add_argument("--details", help="a file for all turns of the hesitating questions, as JSON lines")
    options = parser.parse_args()
    rows = [json.loads(line) for line in (SETS / "hesitations/index.jsonl").read_text().splitlines()][:options.limit]
    conversation = sorted((SETS / "conversation").glob("*.flac"))
    details = open(options.details, "w", encoding="utf-8") if options.details else None
    print(f"| silence | cut, of {len(rows)} | first audio, median | same, conversation | 90th percentile |")
    print("|---|---:|---:|---:|---:|")
    for name, more in (("by what was said", []), ("350 ms", ["--end-silence", "350", "--pause", "100"])):
        n_cut, heard = 0, []
        hesitating = [*more, "--barge-in"] + (["-t", "1"] if options.jobs > 1 else [])

        def answer(row):
            return turns_of(options.parlance, [SETS / "hesitations" / row["audio"]], hesitating)

        with ThreadPoolExecutor(options.jobs) as jobs:
            answered = list(jobs.map(answer, rows))
        for row, turns in zip(rows, answered):
            n_cut += len(turns) > 1
            heard += first_audio(turns[-1:])
            if details:
                details.write(json.dumps({"silence": name, **row, "turns": turns}) + "\n")
        plain = sorted(first_audio(turns_of(options.parlance, conversation, more)))
        print(f"| {name} | {n_cut} | {statistics.median(heard):.0f} ms | {statistics.median(plain):.0f} ms "
              f"| {plain[-(-9 * len(plain) // 10) - 1]:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
