#!/usr/bin/env python3
"""Speed of Parlance and of llama.cpp on the same files, in the same minutes.

  bench/compare_llama_cpp.py --llama-bench PATH [--parlance PATH] [-t 1,2] [-p 512] [-n 64] [--rounds 5] MODEL...

Each round runs both programs once, one after the other (A B A B …), so that a machine whose speed drifts is fair to
both. Printed are medians over the rounds, and the median of the ratios round by round. Both programs warm up first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def run_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or 'failed'}")
    return json.loads(done.stdout)


def parlance_speed(args, model, threads, prompt, gen):
    """Tokens per second of one run."""
    report = run_json([args.parlance, "bench", "-m", model, "--threads", str(threads), "--prompt-sizes", str(prompt),
                       "--gen-sizes", str(gen), "--depths", "0", "--repetitions", "1", "--json"])
    return report["runs"][0]["tests"][0]["tokens_per_second"]


def llama_speed(args, model, threads, prompt, gen):
    report = run_json([args.llama_bench, "-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(gen), "-r", "1",
                       "-o", "json"])
    return report[0]["avg_ts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--parlance", default="build/release/bin/parlance")
    parser.add_argument("-t", "--threads", default="1,2")
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--gen", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="also write every figure to this file")
    args = parser.parse_args()

    rows = []
    print(f"{'model':32} {'test':>7} {'threads':>7} {'parlance':>10} {'llama.cpp':>10} {'ratio':>6}   tokens/s, medians of {args.rounds}")
    for model in args.models:
        for threads in map(int, args.threads.split(",")):
            for name, prompt, gen in ((f"pp{args.prompt}", args.prompt, 0), (f"tg{args.gen}", 0, args.gen)):
                ours, theirs = [], []
                for _ in range(args.rounds):
                    ours.append(parlance_speed(args, model, threads, prompt, gen))
                    theirs.append(llama_speed(args, model, threads, prompt, gen))
                ratio = statistics.median(a / b for a, b in zip(ours, theirs))
                rows.append(dict(model=model, test=name, threads=threads, parlance=ours, llama_cpp=theirs, ratio=ratio))
                print(f"{os.path.basename(model):32} {name:>7} {threads:>7} {statistics.median(ours):10.1f} "
                      f"{statistics.median(theirs):10.1f} {ratio:6.2f}", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)


main()
