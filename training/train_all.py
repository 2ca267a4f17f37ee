"""Makes all speech models of the demo, and the drafter, on one machine: corpora, trainings, codes, in the order they need.

    python3 training/train_all.py --out run --gpus 4                # everything, in 25 minutes on four H200 and 64 cores
    python3 training/train_all.py --out run --gpus 1 --only asr     # one model and what it needs

Each job writes RUN/log/JOB.log; a job whose result is there is not done again, and a training goes on from its checkpoint, so
that a run which was stopped goes on. On fewer GPUs jobs wait for each other. Nothing is copied into models/demo: training/README.md says what goes where.
"""

import argparse
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import time

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable


@dataclass
class Job:
    name: str
    result: Path                    # exists when the job is done
    command: list = None            # of words, or of functions of the seconds since the begin; or
    function: object = None         # of this program
    after: tuple = ()               # names of jobs
    gpus: int = 0
    most_gpus: int = 0              # takes more where they are free
    behind: tuple = ()              # jobs that, if they are wanted, are over before: done or failed
    process: object = field(default=None, repr=False)
    taken: list = field(default_factory=list)


def corpus(run, name, hours, seed, *options, after=()):
    folder = run / "corpus" / name
    command = [PYTHON, HERE / "speech/generate.py", "--out", folder, "--hours", hours, "--seed", seed, *options]
    return Job(name, folder / "index.jsonl", command, after=after)


def jobs(run, a):
    """All jobs, the most urgent first."""
    def left(seconds, margin):
        """Of training: until a.seconds are over where trainings run beside each other."""
        return lambda now: max(120, a.seconds - now - margin) if a.gpus >= 4 else seconds

    c = run / "corpus"
    held = ("--split", "held", "--workers", "8")
    voice = ("--voices", "tts", "--mix", "tts", "--edges", "constant", "--rates", "24")
    recogniser = HERE.parent / "models/demo/asr"
    scored = ("--held-seen", c / "held-seen", "--held-unseen", c / "held-unseen")
    parts = [f"voice-{n}" for n in range(1, a.voice_parts + 1)]     # so that each GPU can code one
    share = max(1, a.workers // (a.voice_parts + 1))
    yield corpus(run, "held-seen", 0.5, 7, *held, "--voices", "seen")
    yield corpus(run, "held-unseen", 0.5, 8, *held, "--voices", "unseen")
    yield corpus(run, "held-voice", 0.3, 9, *held, *voice)
    for n, part in enumerate(parts):
        yield corpus(run, part, a.voice_hours / a.voice_parts, 100 + n, *voice, "--workers", share)
    yield corpus(run, "seen", 0.3 * a.voice_hours, 3, "--workers", share)
    # Codecs begin before the largest corpus takes all processors.
    yield corpus(run, "speech", a.speech_hours, 2, "--mix", "asr", "--rates", "16", "--workers", a.workers,
                 after=(*parts, "seen") if not a.only or {"tts", "codec"} & set(a.only) else ())

    def codec(n, seconds, *options, after=()):
        out = run / f"codec-{n}"
        return Job(f"codec-{n}", out / "scores.json",
                   [PYTHON, HERE / "codec/train.py", "--corpus", c / parts[0], c / "seen", "--weights", "0.6", "0.4", "--recogniser",
                    recogniser, *scored, "--out", out, "--seed", n, "--max-seconds", seconds, "--resume", *options],
                   after=(parts[0], "seen", "held-seen", "held-unseen", *after), gpus=1)

    def codes(of, name):
        return Job(f"codes-of-{of}-{name}", c / f"{name}.{of}.npy",
                   [PYTHON, HERE / "tts/codes.py", "encode", "--codec", run / of / "codec.gguf", "--corpus", c / name, "--out",
                    c / f"{name}.{of}.npy"], after=(of, name), gpus=1)

    def tts(name, of, seconds, *options, **needs):
        return Job(name, run / name / "scores.json",
                   [HERE / "tts/train.py", "--corpus", *(c / part for part in parts), "--codes",
                    *(c / f"{part}.{of}.npy" for part in parts), "--held", c / "held-voice", "--held-codes",
                    c / f"held-voice.{of}.npy", "--out", run / name, "--n-codes", "512", "--max-seconds", seconds, "--resume",
                    *options], after=tuple(f"codes-of-{of}-{name}" for name in (*parts, "held-voice")), gpus=1, **needs)

    # A voice learns what belongs to which text on the codes of an early codec, while the last codecs are still trained.
    early = run / "tts-early/checkpoint.pt"
    if a.gpus >= 4:
        yield codec(0, 200, "--reserve-seconds", 20)
    for n in range(1, a.codecs + 1):
        begin_early = n == a.codecs and a.gpus >= 4     # not from random weights
        yield codec(n, a.codec_seconds, *(("--start", run / "codec-0/codec.gguf") if begin_early else ()),
                    after=("codec-0",) if begin_early else ())
    if a.gpus >= 4:
        for name in (*parts, "held-voice"):
            yield codes("codec-0", name)
        yield tts("tts-early", "codec-0", a.codec_seconds - 60, "--samples", "2", "--decay", "0.2",
                  most_gpus=max(1, a.gpus // 4))
    yield Job("codec", run / "codec/codec.gguf", function=lambda: choose_codec(run, a.codecs),
              behind=tuple(f"codec-{n}" for n in range(1, a.codecs + 1)))
    for name in (*parts, "held-voice"):
        yield codes("codec", name)
    yield tts("tts", "codec", left(700, 70), "--codec", run / "codec/codec.gguf",
              "--recogniser", recogniser,
              lambda now: ("--start-from", early, "--new-codes") if early.exists() else (),
              most_gpus=max(1, a.gpus - 1), behind=("tts-early",))
    yield Job("asr", run / "asr/scores.json",
              [HERE / "asr/train.py", "--train", c / "speech", "--held", c / "held-seen", "--unseen", c / "held-unseen",
               "--out", run / "asr", "--threads", "8", "--max-seconds", left(850, 60), "--resume"],
              after=("speech", "held-seen", "held-unseen"), gpus=1, most_gpus=max(1, (a.gpus - 2) // 2))
    yield Job("vad", run / "vad/scores.json",
              [PYTHON, HERE / "vad/train.py", "--corpus", c / "seen", "--held", c / "held-unseen", "--out", run / "vad",
               "--max-seconds", 200, "--resume"], after=("seen", "held-unseen"), gpus=1)
    yield Job("speaker", run / "speaker/scores.json",
              [PYTHON, HERE / "speaker/train.py", "--corpus", c / "seen", *scored, "--out", run / "speaker", "--max-seconds",
               80, "--resume"], after=("seen", "held-seen", "held-unseen"), gpus=1)
    yield Job("drafter", run / "drafter/scores.json",
              [PYTHON, HERE / "drafter/train.py", "--out", run / "drafter", "--max-seconds", 240, "--candidates",
               "2:192:1,3,5", "--resume"], gpus=1)


def choose_codec(run, n):
    """Copies the codec through which the recogniser understands most, and says which; None where none was made."""
    def errors_of(scores):
        return scores.get("wer", {}).get("of codec", 100 + scores["mel"])

    files = {k: run / f"codec-{k}/scores.json" for k in range(1, n + 1)}
    errors = {k: errors_of(json.loads(file.read_text())["held_seen"]) for k, file in files.items() if file.exists()}
    if not errors:
        return None
    best = min(errors, key=errors.get)
    (run / "codec").mkdir(exist_ok=True)
    shutil.copy(run / f"codec-{best}/codec.gguf", run / "codec/codec.gguf")
    return f"word errors through each codec in %: {errors}; the best is {best}"


def wanted(all_jobs, only):
    """The jobs in `only` and what they need; all without it."""
    if not only:
        return all_jobs
    by_name, needed, open_names = {job.name: job for job in all_jobs}, set(), list(only)
    while open_names:
        name = open_names.pop()
        if name not in by_name:
            raise SystemExit(f"no job is called {name}; there are {', '.join(by_name)}")
        if name not in needed:
            needed.add(name)
            job = by_name[name]
            open_names += (*job.after, *(other for other in job.behind if other in by_name))
    return [job for job in all_jobs if job.name in needed]


def words_of(command, now):
    """The command with what its functions say: a word or a tuple of them."""
    for word in command:
        word = word(now) if callable(word) else word
        yield from map(str, word if isinstance(word, tuple) else (word,))


def start(job, run, gpus, now):
    command = list(words_of(job.command, now))
    if job.most_gpus:
        several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(len(gpus))] if len(gpus) > 1 else []
        command = [PYTHON, *several, *command]
    environment = dict(os.environ, PYTHONUNBUFFERED="1", CUDA_VISIBLE_DEVICES=",".join(map(str, gpus)))
    environment.pop("CC", None)     # compilers of kernels would take it for theirs
    with open(run / "log" / f"{job.name}.log", "w") as log:
        job.process, job.taken = subprocess.Popen(command, stdout=log, stderr=log, env=environment), gpus


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 2), help="of each large corpus")
    parser.add_argument("--only", nargs="+", default=[], metavar="JOB")
    parser.add_argument("--codecs", type=int, help="how many are trained, of which the best is taken")
    parser.add_argument("--voice-hours", type=float, default=45, help="of speech for codec and voice")
    parser.add_argument("--voice-parts", type=int, default=3, help="corpora that these are divided into")
    parser.add_argument("--speech-hours", type=float, default=90, help="of speech for the recogniser")
    parser.add_argument("--codec-seconds", type=float, default=480, help="of each codec")
    parser.add_argument("--seconds", type=float, default=1500, help="of everything: recogniser and voice have what is left")
    a = parser.parse_args()
    a.codecs = a.codecs or (3 if a.gpus >= 8 else 2 if a.gpus >= 4 else 1)
    run = a.out.resolve()
    (run / "log").mkdir(parents=True, exist_ok=True)
    begin, free = time.monotonic(), list(range(a.gpus))
    say = lambda text: print(f"{time.monotonic() - begin:6.0f} s  {text}", flush=True)
    waiting = wanted(list(jobs(run, a)), a.only)
    running, done, failed, names = [], set(), set(), {job.name for job in waiting}
    while waiting or running:
        for job in running[:]:
            code = job.process.poll()
            if code is not None:
                running.remove(job)
                free = sorted(free + job.taken)
                is_good = code == 0 and job.result.exists()
                (done if is_good else failed).add(job.name)
                say(f"{job.name} is done" if is_good else f"{job.name} failed ({code}); see {run}/log/{job.name}.log")
        for job in waiting[:]:
            if job.result.exists():
                waiting.remove(job)
                done.add(job.name)
            elif failed & set(job.after):
                waiting.remove(job)
                failed.add(job.name)
                say(f"{job.name} cannot begin without {', '.join(failed & set(job.after))}")
            elif not (done >= set(job.after) and done | failed >= set(job.behind) & names):
                continue
            elif job.function:
                waiting.remove(job)
                said = job.function()
                (done if said else failed).add(job.name)
                say(said or f"{job.name} failed")
            elif len(free) >= job.gpus:
                n = max(job.gpus, min(job.most_gpus, len(free)))
                gpus, free = free[:n], free[n:]
                waiting.remove(job)
                running.append(job)
                start(job, run, gpus, time.monotonic() - begin)
                say(f"{job.name} begins" + (f" on GPU {', '.join(map(str, gpus))}" if gpus else ""))
        time.sleep(0.5)
    say(f"{len(failed)} jobs failed: {', '.join(sorted(failed))}" if failed else "all done")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
