#!/usr/bin/env python3
"""Speed of Parlance on the CPU beside the machine's bounds, and beside llama.cpp where there is one: `make bench`.

Prints one table and writes it as Markdown, as a picture and as JSON. Every option can be given as a variable of the
environment or of make: `make bench FULL=1 LLAMA_BENCH=/path/to/llama-bench`.
"""
import argparse
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import line_chart
import quiet_process
import report
import results as results_module
import synthetic_model
from programs import SPEED_TESTS, Case, LlamaCpp, Parlance, Sizes

SHAPE = "qwen3-0.6b"
USUAL_TYPES = "F16,Q8_0,Q6_K,Q4_K_M,Q4_0"
ALL_TYPES = USUAL_TYPES + ",BF16,Q5_K_M,Q5_K_S,Q5_1,Q5_0,Q4_K_S,Q4_1,IQ4_NL,IQ4_XS,Q3_K_M,Q2_K"
BATCH = 8  # tokens computed together in the small batch
N_LOADED = 16  # tokens of a decode beside a busy process: some programs are 30 times slower then
TRIES = 3  # of a run that others disturb
QUIET_WAIT_S = 10
FEWER_BEYOND = 4096  # tokens of depth: from there on, rounds become fewer
CERTAIN_LOSS = 0.8  # of the other variant's speed: one that is slower need not be timed again


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def option(flag, variable, default, words, **more):
        set_value = os.environ.get(variable, "")
        if more.get("action") == "store_true":
            default = set_value not in ("", "0")
        else:
            default = more.get("type", str)(set_value) if set_value else default
        parser.add_argument(flag, default=default, help=f"{words} ({variable})", **more)

    option("--full", "FULL", False, "five rounds, depths to 32k, no limit of time, written to docs/",
           action="store_true")
    option("--models", "MODEL", "", "GGUF files of yours, separated by commas, instead of synthetic ones")
    option("--types", "TYPES", USUAL_TYPES, "weight types of the synthetic models; all: every one there is")
    option("--threads", "THREADS", f"1,{len(os.sched_getaffinity(0))}", "numbers of threads")
    option("--depths", "DEPTHS", "", "tokens in the context before, with the most threads; default 0,4096")
    option("--rounds", "ROUNDS", 0, "runs of each test; default 3", type=int)
    option("--minutes", "MINUTES", 0, "begin nothing new after this time; default 8", type=float)
    option("--prompt", "PROMPT", 512, "tokens of a prefill", type=int)
    option("--answer", "ANSWER", 64, "tokens of a decode", type=int)
    option("--memory-depth", "MEMORY_DEPTH", 4096, "tokens in the context when memory is measured; 0: not", type=int)
    option("--background", "BACKGROUND", False, "also time decode while a process keeps one core busy",
           action="store_true")
    option("--resume", "RESUME", False, "continue the measurement whose JSON file is there", action="store_true")
    option("--out", "OUT", "", "folder for table, picture and JSON; default build/bench")
    option("--work", "WORK", "build/bench", "folder for synthetic models: 3 GB, all types 8 GB")
    option("--parlance", "PARLANCE", "build/release/bin/parlance", "the program")
    option("--llama-bench", "LLAMA_BENCH", shutil.which("llama-bench") or "", "llama.cpp's llama-bench")
    option("--depth-bench", "DEPTH_BENCH", "", "a program that times llama.cpp behind a depth without computing it")
    option("--max-computed-depth", "MAX_COMPUTED_DEPTH", 8192, "deepest context that llama-bench has to compute",
           type=int)
    option("--fork-bench", "LLAMA_FORK_BENCH", "", "llama-bench of a fork of llama.cpp")
    option("--fork-depth-bench", "FORK_DEPTH_BENCH", "", "a depth bench of the fork")
    args = parser.parse_args()
    args.depths = args.depths or ("0,4096,16384,32768" if args.full else "0,4096")
    args.rounds = args.rounds or (5 if args.full else 3)
    args.minutes = args.minutes or (float("inf") if args.full else 8)
    args.out = args.out or ("docs" if args.full else "build/bench")
    args.types = ALL_TYPES if args.types == "all" else args.types
    if args.prompt == BATCH:
        parser.error(f"a prompt of {BATCH} tokens is the small batch; give another --prompt")
    return args


def make_models(args):
    """{name: path}; synthetic ones are written unless they are there."""
    if args.models:
        missing = [path for path in args.models.split(",") if not os.path.isfile(path)]
        if missing:
            sys.exit(f"{missing[0]}: there is no such file; MODEL=file.gguf names one")
        return {os.path.basename(path).removesuffix(".gguf"): path for path in args.models.split(",")}
    os.makedirs(args.work, exist_ok=True)
    paths = {name: os.path.join(args.work, f"{SHAPE}-{name}.gguf") for name in ["F16", *args.types.split(",")]}
    for name, path in paths.items():
        if os.path.exists(path):
            continue
        say(f"making {path}")
        if name == "F16":
            synthetic_model.write(path + ".part", SHAPE, "f16")
            os.replace(path + ".part", path)
        else:
            subprocess.run([args.parlance, "quantize", paths["F16"], path, name], check=True, stdout=subprocess.DEVNULL)
    return {name: paths[name] for name in args.types.split(",")}


def find_programs(args):
    for path, remedy in ((args.parlance, "make build"), (args.llama_bench, "LLAMA_BENCH=path"),
                         (args.depth_bench, "DEPTH_BENCH=path"), (args.fork_bench, "LLAMA_FORK_BENCH=path"),
                         (args.fork_depth_bench, "FORK_DEPTH_BENCH=path")):
        if path and not os.access(path, os.X_OK):
            sys.exit(f"{path}: there is no such program; {remedy} gives one")
    programs = [Parlance(args.parlance)]
    for name, path, depth_path, variable in (
            ("llama.cpp", args.llama_bench, args.depth_bench, "LLAMA_BENCH"),
            ("fork", args.fork_bench, args.fork_depth_bench, "LLAMA_FORK_BENCH")):
        if path:
            programs += [LlamaCpp(name, path, depth_path, has_flash, args.max_computed_depth)
                         for has_flash in (False, True)]
        elif name == "llama.cpp":
            say(f"no llama-bench found: to compare with llama.cpp, make bench {variable}=/path/to/llama-bench")
    return programs


def say(words):
    print(words, file=sys.stderr, flush=True)


class Measurement:
    """Walks through the rounds: in each, every case once, and in each case every program once, in turn."""

    def __init__(self, args, models, programs):
        self.args, self.models, self.programs = args, models, programs
        self.sizes = Sizes(args.prompt, args.answer, BATCH)
        self.model_bytes = {name: os.path.getsize(path) for name, path in models.items()}
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        machine = {"processor": names[0] if names else "unknown processor", "n_processors": os.cpu_count()}
        self.results = results_module.Results(os.path.join(args.out, "cpu-speed.json"), {
            "machine": machine, "prompt": args.prompt, "answer": args.answer, "memory_depth": args.memory_depth})
        self.failed = set()  # (program, variant, model, kind) that are not tried again
        self.end = time.monotonic() + 60 * args.minutes
        self.n_left_out = 0

    def steps(self):
        """(kind, model, case) of one round, what matters most first."""
        depths = sorted(int(depth) for depth in self.args.depths.split(","))
        threads = sorted({int(n) for n in self.args.threads.split(",")}, reverse=True)
        most = threads[0]
        for depth in depths:
            for n in threads if depth == depths[0] else threads[:1]:
                for model, path in self.models.items():
                    yield "speed", model, Case(path, n, depth)
            if depth == depths[0]:
                for model, path in self.models.items():
                    if self.args.background:
                        yield "loaded", model, Case(path, most, depth)
                    if self.args.memory_depth:
                        yield "memory", model, Case(path, most, self.args.memory_depth)

    def run(self):
        steps = list(self.steps())
        for i in range(self.args.rounds):
            for n, (kind, model, case) in enumerate(steps):
                if i < self.rounds_of(kind, case):
                    self.step(i, kind, model, case, f"round {i + 1} of {self.args.rounds}, {n + 1} of {len(steps)}")

    def rounds_of(self, kind, case):
        """Deep contexts take long and vary less; memory does not vary."""
        if kind == "memory":
            return 1
        return min(self.args.rounds, max(2, self.args.rounds * FEWER_BEYOND // max(case.depth, 1)))

    def tests_to_run(self, program, what):
        """Those of SPEED_TESTS in which this variant of a program may still be the best."""
        runs = [run for run in self.results.select(program=program.name, **what) if run["is_quiet"]]

        def median(test, is_own):
            values = [run[test] for run in runs if test in run and (run["variant"] == program.variant) == is_own]
            return statistics.median(values) if values else None

        def may_win(test):
            own, others = median(test, True), median(test, False)
            return own is None or others is None or own >= CERTAIN_LOSS * others

        return [test for test in SPEED_TESTS if may_win(test)]

    def step(self, i, kind, model, case, progress):
        """One case of one round, by every program that has not run it yet."""
        what = dict(kind=kind, model=model, threads=case.threads, depth=case.depth)
        done = {(run["program"], run["variant"]) for run in self.results.select(round=i, **what)}
        missing = [program for program in self.programs if (program.name, program.variant) not in done
                   and (program, kind, case) not in self.failed and case.depth <= program.max_depth]
        if missing and time.monotonic() + sum(self.known_seconds(program, what) for program in missing) > self.end:
            self.n_left_out += 1
            return
        for program in missing:
            tests = self.tests_to_run(program, what) if kind == "speed" else SPEED_TESTS
            if not tests:
                continue
            say(f"[{progress}] {kind}: {report.group_title(model, case.threads)}, depth {case.depth}: "
                f"{program.name} {program.variant}")
            figures = self.measure(program, kind, case, tests)
            if figures:
                self.results.add({"program": program.name, "variant": program.variant, "build": program.build, **what,
                                  "model_bytes": self.model_bytes[model], "round": i, **figures})
                self.results.save()
            else:
                self.failed.add((program, kind, case))
                if program is self.programs[0]:
                    self.failed |= {(other, kind, case) for other in self.programs}  # nothing to compare with
                    break

    def known_seconds(self, program, what):
        """What a run took the last time; 0 where there is none yet."""
        runs = self.results.select(program=program.name, variant=program.variant, **what)
        return runs[-1]["seconds"] if runs else 0

    def measure(self, program, kind, case, tests):
        """The figures of one run, a quiet one if a few tries are enough; None where the program cannot."""
        if kind == "speed":
            command = program.speed_command(case, self.sizes, tests)
        elif kind == "loaded":
            command = program.decode_command(case, N_LOADED)
        else:
            command = program.memory_command(case, self.sizes)
        for _ in range(TRIES):
            with quiet_process.BusyLoop() if kind == "loaded" else contextlib.nullcontext() as loop:
                outcome = quiet_process.run(command, loop)
            if outcome.error:
                say("  " + outcome.error)
                return None
            is_quiet = outcome.is_quiet or kind == "memory"  # others do not change what a process holds
            if is_quiet or time.monotonic() > self.end:
                break
            say(f"  disturbed: others took {100 * outcome.others:.0f} % of the machine")
            quiet_process.wait_for_quiet(QUIET_WAIT_S)
        figures = program.figures(outcome, self.sizes)
        if kind != "memory" and not any(test in figures for test in SPEED_TESTS):
            say(f"  left out: {case.depth} tokens and what follows do not fit this model's context")
            return None
        return {"seconds": round(outcome.seconds, 2), "others": round(outcome.others, 4), "is_quiet": is_quiet,
                **figures}


def chart(rows):
    """What line_chart draws: the rows with the most threads."""
    columns = {}
    most = max(row.threads for row in rows)
    for row in rows:
        if row.threads != most or row.test not in ("prefill", "decode"):
            continue
        series = columns.setdefault(row.model, {}).setdefault(row.test, {})
        series.setdefault("Parlance", {})[row.depth] = row.ours
        for name, peer in row.peers.items():
            series.setdefault(name, {})[row.depth] = peer.value
        series.setdefault("bound", {})[row.depth] = row.bound
    return columns, most


def write_report(args, measurement):
    results, sizes = measurement.results, measurement.sizes
    rows = results_module.summarise(results, sizes.batch)
    if not rows:
        sys.exit("nothing was measured")
    results.save(rows)
    print(report.text(results, rows, sizes))
    base = os.path.join(args.out, "cpu-speed")
    columns, threads = chart(rows)
    title = f"Speed by depth of context, {report.threads_name(threads)}, {report.machine_line(results.head)}"
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(line_chart.draw(title, columns, {"prefill": f"prefill {sizes.prompt}",
                                                    "decode": f"decode {sizes.answer}"}))
    switches = [f"{name}=1" for name in ("FULL", "BACKGROUND") if os.environ.get(name)]
    paths = [f"{name}=..." for name in ("LLAMA_BENCH", "DEPTH_BENCH", "LLAMA_FORK_BENCH", "FORK_DEPTH_BENCH")
             if os.environ.get(name)]
    command = " ".join(["make bench", *switches, *paths])
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report.markdown(results, rows, sizes, command, args.memory_depth, "cpu-speed.svg"))
    print(f"\nWritten: {base}.md, .svg and .json.")
    if measurement.n_left_out:
        print(f"{measurement.n_left_out} measurements were left out after {args.minutes:g} minutes: "
              "make bench RESUME=1 continues, MINUTES=30 allows more.")


def main():
    args = parse_arguments()
    os.makedirs(args.out, exist_ok=True)
    programs = find_programs(args)
    measurement = Measurement(args, make_models(args), programs)
    if args.resume and os.path.exists(measurement.results.path):
        n = measurement.results.load({(p.name, p.variant): p.build for p in programs}, measurement.model_bytes)
        say(f"continuing with {n} runs of {measurement.results.path}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # who ends this, too, gets a table
    try:
        measurement.run()
    except KeyboardInterrupt:
        say("interrupted: this is what there is; make bench RESUME=1 continues")
    write_report(args, measurement)


if __name__ == "__main__":
    main()
