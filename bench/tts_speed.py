#!/usr/bin/env python3
"""Speed of speech synthesis on the CPU, beside the machine's bounds and beside a llama.cpp that has OmniVoice.

  bench/tts_speed.py --rival /path/to/omnivoice-tts [--types q8_0,bf16] [--cases sentence,clone]

Both programs speak chunks of the same lengths in turn (A B A B) with models of random weights, which say nothing but
compute as much. The rival needs the options --steps and --ref-rvq of omnivoice.cpp. Prints a table and writes it as
Markdown and JSON; what the JSON file has of the same programs, of other types or cases, stays in it.
"""
import argparse
import dataclasses
import json
import os
import random
import re
import statistics
import sys
import tempfile

import rounds
import synthetic_omnivoice
from programs import build_of
from rounds import kept, say, seconds

FRAMES_PER_SECOND = 25
MASKS = ("hard", "soft")  # of guidance; the rival has the second only
DENOISE_TOKENS, STYLE_TOKENS, BODY_TOKENS = 1, 12, 2  # of the rival's prompt, beside one for each byte of text
STAMP = "import sys, time\nfor line in sys.stdin: print(f'{time.monotonic():.6f}', line, end='', flush=True)"


@dataclasses.dataclass(frozen=True)
class Case:
    """As `parlance bench say` has it."""
    name: str
    n_text: int
    n_reference: int
    n_frames: int

    @property
    def n_row(self):
        return self.n_text + self.n_reference + self.n_frames


CASES = {case.name: case for case in (Case("clause", 22, 0, 50), Case("sentence", 27, 0, 163),
                                      Case("clone", 90, 425, 223))}


def words(n_bytes):
    """Text of so many tokens: the models have none beyond bytes for it."""
    return ("a bird is on a hill and so are we " * n_bytes)[: n_bytes - 1] + "."


def texts_of(case):
    """(what is said, what the reference says) so that the prompt has n_text tokens."""
    n = case.n_text - STYLE_TOKENS - BODY_TOKENS
    if not case.n_reference:
        return words(n), ""
    n -= DENOISE_TOKENS + 1  # and a space between the two
    return words(n // 2), words(n - n // 2)


def packed_codes(n_frames, n_codebook=8, n_bits=11):
    """Random codes as an .rvq file has them."""
    source, bits = random.Random(1), 0
    for i in range(n_frames * n_codebook):
        bits |= source.randrange(1024) << (n_bits * i)
    return bits.to_bytes(n_frames * n_codebook * n_bits // 8, "little")


class Parlance:
    name = "Parlance"

    def __init__(self, path):
        self.path, self.build = path, build_of(path)

    def command(self, folder, case, args):
        masks = [part for mask in MASKS for part in ("--guidance-mask", mask)]
        return [self.path, "bench", "say", "-m", folder, "-t", str(args.threads), "-r", str(args.steps - 1), "--case",
                case.name, *masks, "--json"]

    def figures(self, output, _case):
        result = json.loads(output)["runs"][0]["cases"][0]
        figures = {"decode": result["decode"]["windowed_seconds"], "decode whole": result["decode"]["seconds"],
                   "bounds": {"decode": result["decode"]["bound_seconds"],
                              "decode whole": result["decode"]["bound_seconds"]},
                   "memory_bytes": max(result["decode"]["memory_bytes"],
                                       *(step["memory_bytes"] for step in result["steps"]
                                         if step["guidance_mask"] == "hard")),
                   "first_sound": {}, "real_time_factor": {}}
        for step in result["steps"]:
            mask = step["guidance_mask"]
            figures[mask] = step["pass_seconds"] + step["decide_seconds"]
            figures["bounds"][mask] = step["bound_seconds"]
            figures["first_sound"][mask] = step["first_sound_seconds"]
            figures["real_time_factor"][mask] = step["real_time_factor"]
        return figures


class Rival:
    """omnivoice-tts; the lines of its log are stamped as they come."""
    name = "llama.cpp"

    def __init__(self, path, folder):
        self.path, self.folder, self.build = path, folder, build_of(path)

    def path_of(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def command(self, folder, case, args):
        said, reference_text = texts_of(case)
        base, codec = (os.path.join(folder, name) for name in synthetic_omnivoice.FILES)
        command = ["env", f"OMP_THREAD_LIMIT={args.threads}", self.path, "--model", base, "--codec", codec,
                   "--duration", str((case.n_frames + 0.5) / FRAMES_PER_SECOND), "--steps", str(args.steps), "--seed",
                   "1", "-o", os.path.join(self.folder, "out.wav")]
        if case.n_reference:
            command += ["--ref-rvq", self.path_of("reference.rvq", packed_codes(case.n_reference)),
                        "--ref-text", self.path_of("reference.txt", reference_text)]
        return ["sh", "-c", 'text=$1; stamp=$2; shift 2; "$@" 2>&1 < "$text" | python3 -c "$stamp"', "sh",
                self.path_of("text.txt", said), STAMP, *command]

    def figures(self, output, case):
        return rival_figures(output, case)


def rival_figures(log, case):
    """From its stamped log: a step after the first, and what lies between the last one and the decoder's end."""
    steps, decode, decoded, n_row = [], None, None, None
    for line in log.splitlines():
        stamp, _, text = line.partition(" ")
        if re.match(r"\[MaskGIT-Step\] \d+/\d+", text):
            steps.append(float(stamp))
        elif text.startswith("[TTS] Decode:"):
            decode = float(stamp)
        elif "Post-proc:" in text:
            decoded = float(stamp)
        elif prompt := re.match(r"\[TTS\] Prompt: .* S=(\d+)", text):
            n_row = int(prompt[1])
    if len(steps) < 2 or decode is None or decoded is None:
        last = log.strip().splitlines()[-1:] or ["no message"]
        raise ValueError("the rival's log is not understood; expected lines such as '[MaskGIT-Step] 2/4' and "
                         f"'Post-proc:', found at its end: {last[0]}")
    if n_row != case.n_row:
        raise ValueError(f"the rival computes {n_row} columns for '{case.name}', expected {case.n_row}")
    step = statistics.median(after - before for before, after in zip(steps, steps[1:]))
    return {"step": step, "decode": decoded - decode}


@dataclasses.dataclass
class Row:
    """One line of the table: seconds."""
    type: str
    case: str
    step: str
    ours: float
    bound: float
    rival: float | None = None
    ratio: float | None = None  # the rival's time over ours, the median of rounds
    n_kept: int = 0  # rounds of ours that had the machine to themselves


RIVAL_STEP = {"hard": "step", "soft": "step", "decode": "decode", "decode whole": "decode"}
NAMES = {"hard": "a step", "soft": "a step, soft mask", "decode": "codec", "decode whole": "codec, at once"}


def of(runs, program, dtype, case):
    return [run for run in runs if (run["program"], run["type"], run["case"]) == (program, dtype, case)]


def summarise(runs):
    rows = []
    for dtype, case in dict.fromkeys((run["type"], run["case"]) for run in runs):
        ours, theirs = (of(runs, program, dtype, case) for program in (Parlance.name, Rival.name))
        if not ours:
            continue
        for step, other in RIVAL_STEP.items():
            row = Row(dtype, case, NAMES[step], statistics.median(run[step] for run in kept(ours)),
                      statistics.median(run["bounds"][step] for run in kept(ours)),
                      n_kept=sum(run["is_quiet"] for run in ours))
            if theirs:
                row.rival = statistics.median(run[other] for run in kept(theirs))
                own = {run["round"]: run[step] for run in kept(ours)}
                ratios = [run[other] / own[run["round"]] for run in kept(theirs) if run["round"] in own]
                row.ratio = statistics.median(ratios or [row.rival / row.ours])
            rows.append(row)
    return rows


def cells(row):
    return [row.type, row.case, row.step, seconds(row.ours), seconds(row.bound), f"{100 * row.bound / row.ours:.0f} %",
            seconds(row.rival), f"{row.ratio:.2f}" if row.ratio else "-", str(row.n_kept)]


TITLES = ["weights", "case", "what", "Parlance", "bound", "of bound", "llama.cpp", "times as fast", "kept"]

EXPLANATION = """\
Times are medians of the rounds; in each, every program ran once, one after the other. *kept* is how many rounds of
Parlance had the machine to themselves. *clause* is 2 s of speech and 22 tokens of text; *sentence* 6.5 s and 27;
*clone* 8.9 s and 90, with a reference of 17 s.

- **a step**: a pass of the language model over both rows of guidance, and the decisions by what it says; a chunk takes
  32 of them unless a user asks for another number. The first step of a process is left out. The second row is the
  target alone (*hard*, what the model was trained for) or is padded to the length of the first (*soft*, what
  omnivoice.cpp computes): llama.cpp has only that, and both of ours are held against it.
- **codec**: the chunk's codes to sound, in windows as `parlance say` hands them out, with margins that are computed
  twice; and all frames at once, as llama.cpp does.
- **bound**: what the machine allows, from the operations and bytes of each and the peaks measured just before.
"""


def sound_lines(runs):
    """What follows from the figures for someone who waits: 32 steps, then the codec's first window."""
    lines = ["| weights | case | first sound after | real-time factor | memory beside the weights |",
             "|---|---|---:|---:|---:|"]
    for dtype, case in dict.fromkeys((run["type"], run["case"]) for run in runs):
        ours = kept(of(runs, Parlance.name, dtype, case))
        if ours:
            first = statistics.median(run["first_sound"]["hard"] for run in ours)
            factor = statistics.median(run["real_time_factor"]["hard"] for run in ours)
            memory = max(run.get("memory_bytes", 0) for run in ours) / 1e6
            lines.append(f"| {dtype} | {case} | {seconds(first)} | {factor:.2f} | "
                         + (f"{memory:.0f} MB |" if memory else "- |"))
    return lines


def markdown(stored, rows):
    head = stored["head"]
    lines = ["# Speed of speech synthesis", "",
             f"Measured on {head['processor']}, {head['threads']} threads, with models of OmniVoice's shape with random"
             " weights, by", "", *[f"    {command}" for command in stored["commands"]], "",
             "The figures of every run are in [tts-speed.json](tts-speed.json).", "", EXPLANATION,
             "| " + " | ".join(TITLES) + " |", "|---|---|---|" + "---:|" * (len(TITLES) - 3)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    lines += ["", "Reckoned from the figures above for 32 steps with the hard mask, not timed; a stream begins with a clause:",
              "", *sound_lines(stored["runs"])]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default="build/release/bin/parlance", help="the program")
    parser.add_argument("--rival", help="omnivoice-tts of a llama.cpp that has it")
    parser.add_argument("--types", default="q8_0,bf16", help="weight types of the language model")
    parser.add_argument("--cases", default=",".join(CASES), help="of " + ", ".join(CASES))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=4, help="of a chunk; the first one is not timed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--more", action="store_true", help="add the rounds to those that the JSON file has")
    parser.add_argument("--work", default="build/bench", help="folder for synthetic models: 3.4 GB for two types")
    parser.add_argument("--out", default="build/bench", help="folder for tts-speed.md and tts-speed.json")
    return parser.parse_args()


def main():
    args = parse_arguments()
    os.makedirs(args.work, exist_ok=True)
    command = " ".join(["bench/tts_speed.py", *sys.argv[1:]])
    with tempfile.TemporaryDirectory() as temporary:
        programs = [Parlance(args.parlance)] + ([Rival(args.rival, temporary)] if args.rival else [])
        head = {"processor": rounds.processor(), "threads": args.threads, "steps": args.steps}
        path = os.path.join(args.out, "tts-speed.json")
        stored = rounds.load(path, head, {program.name: program.build for program in programs})
        if command not in stored["commands"]:
            stored["commands"].append(command)
        for dtype in args.types.split(","):
            folder = os.path.join(args.work, f"{synthetic_omnivoice.SHAPE}-{dtype}")
            if not os.path.exists(os.path.join(folder, synthetic_omnivoice.FILES[1])):
                say(f"making {folder}")
                synthetic_omnivoice.write(folder, dtype)
            for name in args.cases.split(","):
                known = [run for run in stored["runs"] if (run["type"], run["case"]) == (dtype, name)]
                if not args.more:
                    stored["runs"] = [run for run in stored["runs"] if run not in known]
                    known = []
                first = 1 + max((run["round"] for run in known), default=-1)
                for i in range(first, first + args.rounds):
                    for program in programs:
                        output, quietness = rounds.run_quietly(program.command(folder, CASES[name], args))
                        figures = program.figures(output, CASES[name]) | quietness
                        stored["runs"].append({"program": program.name, "build": program.build, "type": dtype,
                                               "case": name, "round": i, **figures})
                        say(f"{dtype} {name} round {i + 1} {program.name}: "
                            + ", ".join(f"{step} {seconds(figures[step])}" for step in ("hard", "soft", "step", "decode")
                                        if step in figures))
                rounds.save(path, stored, summarise(stored["runs"]))
        rows = summarise(stored["runs"])
        rounds.save(path, stored, rows)
        with open(os.path.join(args.out, "tts-speed.md"), "w", encoding="utf-8") as file:
            file.write(markdown(stored, rows))
        print(rounds.text([TITLES, *map(cells, rows)]))


if __name__ == "__main__":
    main()
