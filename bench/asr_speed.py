#!/usr/bin/env python3
"""Speed of speech recognition on the CPU, beside the machine's bounds and beside a llama.cpp that has Qwen3-ASR.

  bench/asr_speed.py --rival /path/to/llama-mtmd-cli [--audio speech.wav] [--types q8_0,f16,q4_k]
  bench/asr_speed.py --live-only [--types q8_0]

Both programs transcribe the same recording in turn (A B A B) with models of random weights, which write as many tokens
as there would be words. Prints a table and writes it as Markdown and JSON; what the JSON file has of the same programs
and recording, of other types, stays in it. The second times streams alone, and the page says on which machine.
"""
import argparse
import dataclasses
import hashlib
import json
import math
import os
import random
import re
import shlex
import shutil
import statistics
import struct
import sys
import tempfile
import wave

import quiet_process
import rounds
import synthetic_model
from programs import build_of

SHAPE = "qwen3-asr-0.6b"
RATE_HZ = 16000
TOKENS_PER_SECOND = 3  # of the answer, as `parlance bench listen` scripts it
PAUSE_SECONDS, PAUSE_ROUNDS = 5, 9  # of speech, after which a pause comes
TURNS = 3  # of the rival in one process: the first warms it up, the last tells where the second ends
STEPS = ("encoder", "prefill", "decode", "total")
VARIANTS = {"plain": "off", "flash": "on"}  # flash attention


def speech_like(seconds):
    """Syllables and pauses with a little noise, loudest at the beginning; see src/cli/bench_listen.cpp."""
    source = random.Random(1)
    phase = 0
    for i in range(int(seconds * RATE_HZ)):
        t = i / RATE_HZ
        phase += 2 * math.pi * (120 + 30 * math.sin(2 * math.pi * 0.7 * t)) / RATE_HZ
        voice = sum(math.sin(k * phase) / k * (1 + 0.5 * math.sin(2 * math.pi * (0.9 + 0.1 * k) * t))
                    for k in range(1, 9))
        loudness = 0 if t % 5 > 4.4 else (0.2 if t < 1 else 0.1) * max(0, math.sin(2 * math.pi * 3.1 * t))
        yield loudness * voice + 0.01 * (source.random() - 0.5)


def write_wav(path, samples):
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes(b"".join(struct.pack("<h", max(-32768, min(32767, round(32767 * x)))) for x in samples))


def length_of(path):
    with wave.open(path, "rb") as file:
        return file.getnframes() / file.getframerate()


class Parlance:
    name, variant = "Parlance", ""

    def __init__(self, path):
        self.path, self.build = path, build_of(path)

    def command(self, folder, audio, threads, _n_answer):
        return [self.path, "bench", "listen", "-m", folder, "--audio", audio, "-t", str(threads), "-r", "1",
                "--no-live", "--json"]

    def figures(self, output, _n_answer):
        batch = json.loads(output)["runs"][0]["batch"]
        stages = {stage["stage"]: stage for stage in batch["stages"]}
        encoder = [stages[name] for name in ("mel", "convolutions", "layers")]
        return {"encoder": sum(stage["seconds"] for stage in encoder), "prefill": stages["prefill"]["seconds"],
                "decode": stages["decode"]["seconds"], "total": batch["total_seconds"],
                "convolutions": stages["convolutions"]["seconds"], "layers": stages["layers"]["seconds"],
                "bounds": {"encoder": sum(stage["bound_seconds"] for stage in encoder),
                           **{name: stages[name]["bound_seconds"] for name in ("prefill", "decode")},
                           "total": sum(stage["bound_seconds"] for stage in stages.values())}}


class Rival:
    """llama-mtmd-cli, asked the same several times in one process, so that a warm answer can be timed."""

    def __init__(self, path, variant, turns_path):
        self.name, self.path, self.variant, self.turns_path = "llama.cpp", path, variant, turns_path
        self.build = build_of(path)

    def command(self, folder, audio, threads, n_answer):
        with open(self.turns_path, "w", encoding="utf-8") as file:
            file.write(f"/audio {audio}\nx\n/clear\n" * TURNS + "/quit\n")
        text, encoder = (os.path.join(folder, name) for name in synthetic_model.ASR_FILES)
        return ["sh", "-c", 'turns=$1; shift; exec "$@" 2>&1 < "$turns"', "sh", self.turns_path, self.path, "-m", text,
                "--mmproj", encoder, "-t", str(threads), "-fa", VARIANTS[self.variant], "-n", str(n_answer),
                "--ignore-eos", "--temp", "0", "-c", "8192", "--chat-template", "chatml", "-lv", "4"]

    def figures(self, output, n_answer):
        return rival_figures(output, n_answer)


def rival_figures(log, n_answer):
    """From its log: what the answers after the first took on average; the last has no end in it."""
    begins, encodes, prefills, per_token_s = [], [], [], None
    for line in log.splitlines():
        stamped = re.search(r"(\d+)\.(\d+)\.(\d+)\.(\d+) I encoding audio slice", line)
        if stamped:
            minutes, *rest = map(int, stamped.groups())
            begins.append(60 * minutes + rest[0] + rest[1] / 1e3 + rest[2] / 1e6)
        if encoded := re.search(r"audio slice encoded in (\d+) ms", line):
            encodes.append(int(encoded[1]) / 1e3)
        if decoded := re.search(r"audio decoded .* in (\d+) ms", line):
            prefills.append(int(decoded[1]) / 1e3)
        if evaluated := re.search(r" eval time = *([\d.]+) ms / *(\d+) runs", line):
            per_token_s = float(evaluated[1]) / 1e3 / int(evaluated[2])
    n_slices = len(begins) // TURNS
    if not n_slices or not per_token_s or not len(begins) == len(encodes) == len(prefills) == TURNS * n_slices:
        raise ValueError("the rival's log is not understood; expected lines such as 'audio slice encoded in 123 ms'")
    n_warm = (TURNS - 1) * n_slices
    return {"encoder": sum(encodes[-n_warm:]) / (TURNS - 1), "prefill": sum(prefills[-n_warm:]) / (TURNS - 1),
            "decode": per_token_s * n_answer, "total": begins[-n_slices] - begins[-2 * n_slices],
            "slices": n_slices}


@dataclasses.dataclass
class Row:
    """One line of the table: seconds."""
    type: str
    step: str
    ours: float
    bound: float | None
    rival: float | None = None
    variant: str = ""  # the better of the rival's two
    ratio: float | None = None  # the rival's time over ours, the median of rounds
    n_kept: int = 0  # rounds of ours that had the machine to themselves


def summarise(runs):
    rows = []
    for dtype in dict.fromkeys(run["type"] for run in runs):
        ours = [run for run in runs if run["type"] == dtype and run["program"] == Parlance.name]
        if not ours:
            continue
        for step in STEPS:
            row = Row(dtype, step, statistics.median(run[step] for run in rounds.kept(ours)),
                      statistics.median(run["bounds"][step] for run in rounds.kept(ours)),
                      n_kept=sum(run["is_quiet"] for run in ours))
            own = {run["round"]: run[step] for run in rounds.kept(ours)}
            for variant in VARIANTS:
                theirs = rounds.kept([run for run in runs if run["type"] == dtype and run["variant"] == variant])
                value = statistics.median(run[step] for run in theirs) if theirs else math.inf
                if value >= (row.rival or math.inf):
                    continue
                shared = [run[step] / own[run["round"]] for run in theirs if run["round"] in own]
                row.rival, row.variant = value, variant
                row.ratio = statistics.median(shared or [value / row.ours])
            rows.append(row)
    return rows


def seconds(value):
    return "-" if value is None else f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.2f} s"


def cells(row):
    return [row.type, row.step, seconds(row.ours), seconds(row.bound),
            f"{100 * row.bound / row.ours:.0f} %" if row.bound else "-", seconds(row.rival), row.variant,
            f"{row.ratio:.2f}" if row.ratio else "-", str(row.n_kept)]


TITLES = ["weights", "step", "Parlance", "bound", "of bound", "llama.cpp", "attention", "times as fast", "kept"]


def text(rows):
    body = [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in [TITLES, *body]) for i in range(len(TITLES))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in [TITLES, *body])


EXPLANATION = """\
Times are medians of the rounds; in each, every program ran once, one after the other. *kept* is how many rounds of
Parlance had the machine to themselves. llama.cpp is timed with flash attention and without, and the better of the
two is shown; its figures are those of answers after the first in a process, Parlance's those of a second round.

- **encoder**: mel frames, convolutions and layers (of llama.cpp without the mel frames). Parlance computes what the
  model was trained for, 13 tokens a second and attention over 8 s; the fork of llama.cpp for eliza-1 computes 12.5
  tokens a second and attention over 2 s.
- **prefill**: the audio's tokens through the language model, and of Parlance the prompt's.
- **decode**: the answer, 3 tokens for a second of audio.
- **total**: from samples to text; of llama.cpp from one recording's first step to the next one's.
- **bound**: what the machine allows, from the operations and bytes of each step and the peaks measured just before.
  Above 100 % the peaks were measured in a worse moment than the step, or caches hold part of the weights.
"""


def live_lines(live):
    updates = ", ".join(f"{1e3 * update['seconds']:.0f} ms at {update['audio_seconds']:g} s"
                        for update in live["update_seconds"])
    return ["| while it is spoken, in pieces of 100 ms | |", "|---|---:|",
            f"| processor time over that of the whole recording | {live['over_whole_recording']:.2f} |",
            f"| first text after | {live['first_text_seconds']:.2f} s |",
            f"| updates | {live['updates']} |",
            f"| one update | {updates} |",
            f"| from a pause after {PAUSE_SECONDS} s to the final text |"
            f" {1e3 * live['pause_to_final_seconds']:.0f} ms |",
            f"| from the last sample to the final text | {1e3 * live['final_seconds']:.0f} ms |",
            f"| longest feed(), partial() | {live['longest_feed_us']:.0f} µs, {live['longest_partial_us']:.0f} µs |"]


def markdown(stored, rows):
    head = stored["head"]
    lines = ["# Speed of speech recognition", "",
             f"Measured on {head['processor']}, {head['threads']} threads, with {head['audio_seconds']:.1f} s of"
             f" {head['audio_words']} and models of Qwen3-ASR-0.6B's shape with random weights, by", "",
             *[f"    {command}" for command in stored["commands"]], "",
             "The figures of every run are in [asr-speed.json](asr-speed.json).", "", EXPLANATION,
             "| " + " | ".join(TITLES) + " |", "|---|---|" + "---:|" * (len(TITLES) - 2)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    for dtype, live in stored["live"].items():
        lines += ["", f"## Live, {dtype}", ""]
        if "machine" in live:
            lines += [f"Measured on {live['machine']}, {live['threads']} threads, by", "",
                      *[f"    {command}" for command in live["commands"]], ""]
        lines += live_lines(live)
    return "\n".join(lines) + "\n"


def measured(program, folder, args, n_answer):
    """The figures of a run, of the quietest of some tries."""
    output, quiet = rounds.run_quietly(program.command(folder, args.audio, args.threads, n_answer))
    return program.figures(output, n_answer) | quiet


def live_figures(args, folder):
    """Of streams: a long one, and the median of several pauses."""
    signal = ["--audio", args.audio] if args.audio else []
    command = [args.parlance, "bench", "listen", "-m", folder, "-t", str(args.threads), "--json"]
    commands = [[*command, *signal, "-r", "1"],
                [*command, "--seconds", str(PAUSE_SECONDS), "-r", str(PAUSE_ROUNDS)]]
    live = []
    for one in commands:
        quiet_process.wait_for_quiet(10)
        outcome = quiet_process.run(one)
        if outcome.error:
            sys.exit(outcome.error)
        live.append(json.loads(outcome.output)["runs"][0]["live"])
    return live[0] | {"pause_to_final_seconds": live[1]["pause_to_final_seconds"],
                      "machine": args.machine or rounds.processor(), "threads": args.threads,
                      "commands": [shlex.join(["parlance", *one[1:]]) for one in commands]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default="build/release/bin/parlance", help="the program")
    parser.add_argument("--rival", help="llama-mtmd-cli of a llama.cpp that has the projector qwen3a")
    parser.add_argument("--types", default="q8_0,f16,q4_k", help="weight types")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--more", action="store_true", help="add the rounds to those that the JSON file has")
    parser.add_argument("--audio", help="speech, a WAV file of up to 30 s at 16 kHz; default: a signal like it")
    parser.add_argument("--audio-words", default="a signal like speech", help="what it is, for the page")
    parser.add_argument("--live", action="store_true", help="also time streams, at the pace of speech")
    parser.add_argument("--live-only", action="store_true", help="time streams only; what else was measured stays")
    parser.add_argument("--machine", help="what the processor is, where it does not say so itself")
    parser.add_argument("--work", default="build/bench", help="folder for synthetic models: 3 GB for three types")
    parser.add_argument("--out", default="build/bench", help="folder for asr-speed.md and asr-speed.json")
    args = parser.parse_args()
    if args.rival and not shutil.which(args.rival):
        parser.error(f"{args.rival}: there is no such program")
    args.rival = args.rival and shutil.which(args.rival)
    return args


def json_path(args):
    return os.path.join(args.out, "asr-speed.json")


def model_folder(args, dtype):
    """Where the pair of files is, which are made if there are none."""
    folder = os.path.join(args.work, f"{SHAPE}-{dtype}")
    if not os.path.exists(os.path.join(folder, synthetic_model.ASR_FILES[1])):
        rounds.say(f"making {folder}")
        synthetic_model.write_asr(folder, SHAPE, dtype, quantize=args.parlance)
    return folder


def save(args, stored):
    """Figures and page; yields the table's rows."""
    rows = summarise(stored["runs"])
    rounds.save(json_path(args), stored, rows)
    with open(os.path.join(args.out, "asr-speed.md"), "w", encoding="utf-8") as file:
        file.write(markdown(stored, rows))
    return rows


def time_streams(args):
    """Streams alone, beside what an earlier run has measured."""
    try:
        with open(json_path(args), encoding="utf-8") as file:
            stored = json.load(file)
    except OSError as error:
        sys.exit(f"{json_path(args)}: {error.strerror}; --live-only adds to what an earlier run has written there")
    for dtype in args.types.split(","):
        stored["live"][dtype] = live_figures(args, model_folder(args, dtype))
        print("\n".join(live_lines(stored["live"][dtype])))
    save(args, stored)


def main():
    args = parse_arguments()
    os.makedirs(args.work, exist_ok=True)
    command = shlex.join(["bench/asr_speed.py", *sys.argv[1:]])
    if args.live_only:
        return time_streams(args)
    if not args.audio:
        args.audio = os.path.join(args.work, "speech.wav")
        write_wav(args.audio, speech_like(29.9))  # 30 s would make llama.cpp encode a window of one frame
    audio_s = length_of(args.audio)
    n_answer = int(audio_s * TOKENS_PER_SECOND)
    with open(args.audio, "rb") as file:
        audio_hash = hashlib.sha256(file.read()).hexdigest()[:12]
    with tempfile.TemporaryDirectory() as temporary:
        programs = [Parlance(args.parlance)]
        if args.rival:
            programs += [Rival(args.rival, variant, os.path.join(temporary, "turns")) for variant in VARIANTS]
        head = {"processor": rounds.processor(), "threads": args.threads, "audio_seconds": audio_s, "audio": audio_hash,
                "audio_words": args.audio_words}
        path = json_path(args)
        stored = rounds.load(path, head, {program.name: program.build for program in programs})
        stored.setdefault("live", {})
        if command not in stored["commands"]:
            stored["commands"].append(command)
        for dtype in args.types.split(","):
            folder = model_folder(args, dtype)
            if not args.more:
                stored["runs"] = [run for run in stored["runs"] if run["type"] != dtype]
            first = 1 + max((run["round"] for run in stored["runs"] if run["type"] == dtype), default=-1)
            for i in range(first, first + args.rounds):
                for program in programs:
                    figures = measured(program, folder, args, n_answer)
                    stored["runs"].append({"program": program.name, "variant": program.variant, "build": program.build,
                                           "type": dtype, "round": i, **figures})
                    rounds.say(f"{dtype} round {i + 1} {program.name} {program.variant}: "
                        + ", ".join(f"{step} {seconds(figures[step])}" for step in STEPS))
            if args.live:
                stored["live"][dtype] = live_figures(args, folder)
            rounds.save(path, stored, summarise(stored["runs"]))
        print(text(save(args, stored)))


if __name__ == "__main__":
    main()
