"""Makes all speech models of the demo, and the drafter, on one machine: corpora, trainings, codes, in the order they need.

    python3 training/train_all.py --out run --gpus 2                # everything; codec and voice in 25 minutes on two H200
    python3 training/train_all.py --out run --gpus 1 --only asr     # one model and what it needs

Each job writes RUN/log/JOB.log; a job whose result is there is not done again, and a training goes on from its checkpoint,
so that a run which was stopped goes on. Jobs wait for GPUs. Of three or more, the recogniser has its own while codec and
voice are trained; on fewer it follows them. Nothing is copied into models/demo: training/README.md says what goes where.
"""

import argparse
from dataclasses import dataclass, field
import os
from pathlib import Path
import subprocess
import sys
import time

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
THREADS = "4"           # of a process that trains: one for each core would keep other processes waiting


@dataclass
class Job:
    name: str
    result: Path                    # exists when the job is done
    command: list                   # of words, or of functions of the seconds since the begin
    after: tuple = ()               # names of jobs that it needs
    behind: tuple = ()              # names of jobs that, if they are wanted, are over before: done or failed
    gpus: int = 0                   # that it has for itself
    shares: int = None              # the number of a GPU that it uses beside another job
    product: Path = None            # when it exists, the job only scores it: others can begin, on the job's GPUs too
    process: object = field(default=None, repr=False)
    taken: list = field(default_factory=list)


def python(gpus=1):
    """The words before a script that has a process for each GPU."""
    return [PYTHON, *(("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", gpus) if gpus > 1 else ())]


def jobs(run, a):
    """All jobs, the most urgent first."""
    c, recogniser = run / "corpus", HERE.parent / "models/demo/asr"
    seconds = lambda n: n * a.scale
    has_few = a.gpus < 3
    asr_gpus = a.gpus if has_few else max(1, a.gpus // 4)
    tts_gpus = a.gpus if has_few else a.gpus - asr_gpus
    when_idle = ("tts",) if has_few else ()

    def corpus(name, hours, seed, share, *options, behind=()):
        """share: of the processors, which corpora of one time divide among them."""
        workers = max(1, round(share * a.workers))
        return Job(name, c / name / "index.jsonl",
                   [PYTHON, HERE / "speech/generate.py", "--out", c / name, "--hours", hours, "--seed", seed, "--workers",
                    workers, *options], behind=behind)

    held = ("--split", "held")
    voice = ("--voices", "tts", "--mix", "tts", "--edges", "constant", "--rates", "24", "--wide-pace", "0.2")
    first = ("voice-1", "seen", "held-seen", "held-unseen", "held-voice")       # so that trainings can begin
    yield corpus("held-seen", 0.5, 7, 0.07, *held, "--voices", "seen")
    yield corpus("held-unseen", 0.5, 8, 0.07, *held, "--voices", "unseen")
    yield corpus("held-voice", 0.3, 9, 0.07, *held, *voice)
    yield corpus("voice-1", 7, 100, 0.55, *voice)
    yield corpus("seen", 4, 3, 0.3)
    yield corpus("speech", a.speech_hours, 2, 1, "--mix", "asr", "--rates", "16", "--hesitant", "0.1", behind=first)
    for n in (2, 3):
        yield corpus(f"voice-{n}", 12, 99 + n, 0.5, *voice, behind=(*first, "speech"))

    held_sets = ("--held-seen", c / "held-seen", "--held-unseen", c / "held-unseen")

    def codec(name, n_seconds, *options, after=(), **needs):
        """A codec that is there is scored and not trained again, which would change what its codes mean."""
        out, file = run / name, run / name / "codec.gguf"
        scored = (*held_sets, "--recogniser", recogniser, "--out", out)
        train = (HERE / "codec/train.py", "--corpus", c / "voice-1", c / "seen", "--weights", 0.6, 0.4, *scored,
                 "--max-seconds", seconds(n_seconds), "--reserve-seconds", seconds(45), "--resume", *options)
        score = (HERE / "codec/score.py", "--checkpoint", file, *scored)
        return Job(name, out / "scores.json", [PYTHON, lambda now: score if file.exists() else train], product=file,
                   after=("voice-1", "seen", "held-seen", "held-unseen", *after), **needs)

    # First what decides the codes, without critics.
    coder = run / "codec-codes/codec.gguf"
    yield codec("codec-codes", 470, "--adversarial-from", 1.1, gpus=1)

    def tts(name, parts, kind, n_seconds, *options, gpus=1, **needs):
        return Job(name, run / name / "scores.json",
                   [*python(gpus), HERE / "tts/train.py", "--corpus", *(c / part for part in parts), "--codes",
                    *(c / f"{part}{kind}.npy" for part in parts), "--held", c / "held-voice", "--held-codes",
                    c / f"held-voice{kind}.npy", "--out", run / name, "--n-codes", 512, "--rows", 48, "--workers", 5,
                    "--max-seconds", n_seconds, "--resume", *options], gpus=gpus, **needs)

    # Meanwhile the voice learns which frames belong to which text, on codes that need no training.
    yield Job("stand-in", c / "held-voice.stand-in.npy",
              [PYTHON, HERE / "tts/stand_in_codes.py", "--corpus", c / "voice-1", c / "held-voice"],
              after=("voice-1", "held-voice"), shares=a.gpus - 1)
    yield tts("tts-begin", ("voice-1",), ".stand-in", seconds(75), "--samples", 2, after=("stand-in",))

    parts = ("voice-1", "voice-2", "voice-3")
    for n, name in enumerate((*parts, "held-voice")):
        yield Job(f"codes-of-{name}", c / f"{name}.npy",
                  [PYTHON, HERE / "tts/codes.py", "encode", "--codec", coder, "--corpus", c / name, "--out",
                   c / f"{name}.npy"], after=("codec-codes", name), shares=n % a.gpus)
    codes = tuple(f"codes-of-{name}" for name in (*parts, "held-voice"))
    left = lambda now: max(seconds(120), seconds(a.seconds - 115) - now)        # 115 s for samples and scores
    yield tts("tts", parts, "", left, "--decay", 0.45, "--start-from", run / "tts-begin/checkpoint.pt", "--new-codes",
              "--codec", coder, "--recogniser", recogniser, "--samples", 48, "--hear-every", 170, "--score-every", 100,
              after=("tts-begin", *codes), gpus=tts_gpus)
    # Beside the voice the codec's decoder learns on, with critics, while the codes stay.
    yield codec("codec", 330, "--start", coder, "--keep-codes", "--adversarial-from", 0.3, "--decay", 0.5,
                after=("codec-codes",), behind=codes, shares=0)
    # And then its ear, while codes keep their meaning.
    yield codec("codec-hearing", 430, "--start", run / "codec/codec.gguf", "--see-through", "--keep-voices", 1, "--adversarial-from", 0.3,
                "--decay", 0.8, "--lr", 0.0004, after=("codec",), behind=when_idle, shares=0)
    yield Job("asr", run / "asr/scores.json",
              [*python(asr_gpus), HERE / "asr/train.py", "--train", c / "speech", "--held", c / "held-seen", "--unseen",
               c / "held-unseen", "--out", run / "asr", "--threads", 8, "--max-seconds", seconds(850), "--resume"],
              after=("speech", "held-seen", "held-unseen"), behind=when_idle, gpus=asr_gpus)
    yield Job("vad", run / "vad/scores.json",
              [PYTHON, HERE / "vad/train.py", "--corpus", c / "seen", "--held", c / "held-unseen", "--out", run / "vad",
               "--max-seconds", seconds(200), "--resume"], after=("seen", "held-unseen"), behind=when_idle, gpus=1)
    yield Job("speaker", run / "speaker/scores.json",
              [PYTHON, HERE / "speaker/train.py", "--corpus", c / "seen", *held_sets, "--out", run / "speaker",
               "--max-seconds", seconds(80), "--resume"],
              after=("seen", "held-seen", "held-unseen"), behind=when_idle, gpus=1)
    yield Job("drafter", run / "drafter/scores.json",
              [PYTHON, HERE / "drafter/train.py", "--out", run / "drafter", "--max-seconds", seconds(240), "--candidates",
               "2:192:1,3,5", "--resume"], behind=when_idle, gpus=1)


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
            open_names += by_name[name].after
    return [job for job in all_jobs if job.name in needed]


def words_of(command, now):
    """The command with what its functions say: a word or a tuple of them."""
    for word in command:
        word = word(now) if callable(word) else word
        yield from map(str, word if isinstance(word, tuple) else (word,))


def start(job, run, gpus, now):
    visible = gpus if job.shares is None else [job.shares]
    environment = dict(os.environ, PYTHONUNBUFFERED="1", CUDA_VISIBLE_DEVICES=",".join(map(str, visible)))
    if visible:
        environment["OMP_NUM_THREADS"] = THREADS
    environment.pop("CC", None)     # compilers of kernels would take it for theirs
    with open(run / "log" / f"{job.name}.log", "w") as log:
        command = list(words_of(job.command, now))
        job.process, job.taken = subprocess.Popen(command, stdout=log, stderr=log, env=environment), gpus


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 4),
                        help="processes of the corpora that are made at one time")
    parser.add_argument("--only", nargs="+", default=[], metavar="JOB")
    parser.add_argument("--speech-hours", type=float, default=90, help="of speech for the recogniser")
    parser.add_argument("--seconds", type=float, default=1500, help="until the voice is there, which learns in what is left")
    parser.add_argument("--scale", type=float, default=1, help="of all seconds, for other GPUs")
    a = parser.parse_args()
    if a.gpus < 1:
        parser.error("--gpus: at least one is needed")
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
                free, job.taken = sorted(free + job.taken), []
                is_good = code == 0 and job.result.exists()
                (done if is_good else failed).add(job.name)
                say(f"{job.name} is done" if is_good else f"{job.name} failed ({code}); see {run}/log/{job.name}.log")
            elif job.name not in done and job.product and job.product.exists():
                done.add(job.name)
                free, job.taken = sorted(free + job.taken), []
                say(f"{job.name} is there and being scored")
        is_owed = False         # an earlier job waits for GPUs: later ones take none
        for job in waiting[:]:
            if job.result.exists():
                waiting.remove(job)
                done.add(job.name)
            elif failed & set(job.after) - done:
                waiting.remove(job)
                failed.add(job.name)
                say(f"{job.name} cannot begin without {', '.join(failed & set(job.after) - done)}")
            elif not (done >= set(job.after) and done | failed >= set(job.behind) & names):
                continue
            elif job.gpus > len(free) or job.gpus and is_owed:
                is_owed = True
            else:
                gpus, free = free[:job.gpus], free[job.gpus:]
                waiting.remove(job)
                running.append(job)
                start(job, run, gpus, time.monotonic() - begin)
                on = gpus if job.shares is None else [job.shares]
                say(f"{job.name} begins" + (f" on GPU {', '.join(map(str, on))}" if on else ""))
        time.sleep(0.5)
    say(f"{len(failed)} jobs failed: {', '.join(sorted(failed))}" if failed else "all done")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
