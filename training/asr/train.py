"""Trains the demo recogniser from scratch on synthetic speech and writes its two GGUF files.

    python3 train.py --train corpus/train --held corpus/held_seen --unseen corpus/held_unseen --out run
    torchrun --standalone --nproc-per-node 2 train.py ...       the same on several GPUs, with --seconds for each of them

A checkpoint is written every --save-every seconds and when --stop-after seconds of this call are over; --resume goes on
from it, the seconds of earlier calls counted in. At the end: OUT/eliza-1-asr*.gguf and OUT/scores.json.
"""

import argparse
import json
import math
from pathlib import Path
import signal
import time

import numpy as np
import torch

import shared_path  # noqa: F401
from corpus import Corpus
from corrupt import UNSEEN_NOISES, Corruption, not_voices
from cuts import CutSource, find_cuts
from data import Prompt, SpeechSource, Texts, compose
import export
from feed import Feed
from losses import Losses, Optimizer, schedule
import mel
from network import TINY, Config, Recogniser
from ranks import Clock, Ranks
from score import Scorer
from tokenizer import Tokenizer


def save(path, **state):
    torch.save(state, str(path) + ".part")
    Path(str(path) + ".part").replace(path)


class Run:
    """Everything that a training run holds; step() is one update."""

    def __init__(self, a, ranks):
        self.a, self.ranks, self.device = a, ranks, ranks.device
        device = ranks.device
        self.config = TINY if a.smoke else Config()
        self.model = Recogniser(self.config).to(device)
        self.model.encoder.dropout, self.model.decoder_dropout = a.dropout, a.decoder_dropout
        self.optimizer = Optimizer(self.model, a.muon_lr, a.adam_lr)
        self.prompt, self.front_end = Prompt(Tokenizer()), mel.MelFrontEnd(device)
        self.losses = Losses(self.model, self.front_end, a)
        self.source = SpeechSource(Corpus(a.train), device, a.limit)
        self.held = {name: SpeechSource(Corpus(folder), device, a.final_utterances)
                     for name, folder in (("seen", a.held), ("unseen", a.unseen)) if folder}
        self.number, self.elapsed = 0, 0.0

    def checkpoint(self):
        if not all(bool(x.isfinite().all()) for x in self.model.parameters()):
            return
        save(self.a.out / "checkpoint.pt", config=self.config, model=self.model.state_dict(),
             optimizer=self.optimizer.state_dict(), number=self.number, elapsed=self.elapsed)

    def restore(self):
        state = torch.load(self.a.out / "checkpoint.pt", map_location=self.device, weights_only=False)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.number, self.elapsed = state["number"], state["elapsed"]

    def step(self, batch, scale):
        self.model.train()
        batch.on(self.device)
        audio, lengths = compose(self.source, batch.clips, self.device)
        if not self.a.plain:
            audio = self.corruption(audio, lengths, batch.silent)
        loss, *parts = self.losses(audio, lengths, batch, mask=not self.a.plain)
        loss.backward()
        self.ranks.average_gradients(self.optimizer.parameters)
        norm = self.optimizer.step(scale)
        self.number += 1
        return [*parts, norm]

    def score(self, n, is_final=False):
        """The table of scores, with kinds of noise that training lacks, the same ones each time."""
        scorer, scores, heard = Scorer(self.model, self.front_end, self.prompt, self.device), {}, {}
        corruption = Corruption(self.source.audio, self.device, seed=1000)
        noisy = lambda decibels: lambda audio, lengths: corruption.add_noise(
            audio, lengths, torch.full((len(audio),), float(decibels), device=self.device), UNSEEN_NOISES)
        for name, source in self.held.items():
            scores[name], heard[name] = scorer.speech(source, n)
        if "seen" in self.held:
            scores["seen_10db"], _ = scorer.speech(self.held["seen"], n, noisy(10))
            if is_final:
                for decibels in (20, 5, 0):
                    scores[f"seen_{decibels}db"], _ = scorer.speech(self.held["seen"], n, noisy(decibels))
                scores["seen_windows_of_2"], _ = scorer.speech(self.held["seen"], n, window_chunks=2)
            rng = np.random.default_rng(0)
            cuts = find_cuts(self.model, self.front_end, self.held["seen"], self.device, rng) if is_final else {}
            if cuts:
                scores["seen_cut"], _ = scorer.speech(CutSource(self.held["seen"], cuts), n)
        scores["silence_without_words"] = scorer.silence(corruption.silence(min(n, 200), 3 * mel.RATE, UNSEEN_NOISES))
        for kind in not_voices(UNSEEN_NOISES) if is_final else ():
            scores[f"silence_of_{kind}"] = scorer.silence(corruption.silence(min(n, 40), 3 * mel.RATE, (kind,)))
        return scores, heard


def brief(scores):
    return "  ".join(f"{name} {100 * (s['wer'] if isinstance(s, dict) else s):.2f} %" for name, s in scores.items())


def finish(run, log):
    a = run.a
    sizes = export.write(a.out, run.model)
    export.load_shipped(a.out, run.model)
    scores, heard = run.score(a.final_utterances, is_final=True)
    (a.out / "scores.json").write_text(json.dumps({
        "scores": scores, "bytes": sizes, "steps": run.number, "seconds": run.elapsed, "seed": a.seed,
        "hours": float(run.source.n.sum()) / mel.RATE / 3600,
        "parameters": sum(p.numel() for name, p in run.model.named_parameters() if not name.startswith("ctc"))},
        indent=1) + "\n")
    with open(a.out / "transcripts.txt", "w", encoding="utf-8") as file:
        for name, texts in heard.items():
            for k, text in sorted(texts.items()):
                file.write(f"{name}\t{k}\t{run.held[name].text[k]}\t{text}\n")
    log("of the files as written: " + brief(scores))
    for name in heard:
        log(f"{name} by kind: " + brief(scores[name]["kinds"]))
    log(f"files {sizes}, together {sum(sizes.values())} bytes")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True, help="corpus of generate.py")
    parser.add_argument("--held", help="corpus of held-out sentences, known voices")
    parser.add_argument("--unseen", help="corpus of held-out sentences, unknown voices")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--max-seconds", type=float, default=850, help="of training, in all calls")
    parser.add_argument("--stop-after", type=float, default=math.inf, help="seconds of this call")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt if it is there")
    parser.add_argument("--start", help="folder with a recogniser's two files to go on from; its auxiliary heads are new, so "
                        "that --ctc-weight 0.2 --phone-weight 0 is best (default: random weights)")
    parser.add_argument("--seconds", type=float, default=720, help="of audio in a step")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=0.002)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--decay", type=float, default=0.5, help="share of the run in which the learning rate falls")
    parser.add_argument("--ctc-weight", type=float, default=0.4)
    parser.add_argument("--phone-weight", type=float, default=0.3)
    parser.add_argument("--smoothing", type=float, default=0.05)
    parser.add_argument("--token-noise", type=float, default=0.15, help="share of wrong input tokens")
    parser.add_argument("--dropout", type=float, default=0.05, help="in the encoder")
    parser.add_argument("--decoder-dropout", type=float, default=0.1)
    parser.add_argument("--cuts-from", type=float, default=0.25, help="progress at which cut sentences join")
    parser.add_argument("--limit", type=int, help="use only the first utterances")
    parser.add_argument("--plain", action="store_true", help="no augmentation, for learning a few utterances by heart")
    parser.add_argument("--smoke", action="store_true", help="a tiny model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-every", type=float, default=8, help="seconds")
    parser.add_argument("--save-every", type=float, default=90, help="seconds")
    parser.add_argument("--score-every", type=float, default=120, help="seconds")
    parser.add_argument("--score-utterances", type=int, default=200)
    parser.add_argument("--final-utterances", type=int, default=1000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--planners", type=int, default=4, help="processes that plan batches")
    return parser.parse_args()


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    ranks = Ranks(a.device)
    log_file = open(a.out / "log.txt", "a", encoding="utf-8") if ranks.is_first else None

    def log(text):
        if ranks.is_first:
            print(text, flush=True)
            log_file.write(text + "\n")
            log_file.flush()

    feed = Feed(Texts(Corpus(a.train), a.limit), a, seed=(a.seed, ranks.rank, int(time.time()) if a.resume else 0))
    torch.set_num_threads(a.threads)
    ranks.start()
    torch.manual_seed(a.seed)
    run = Run(a, ranks)
    device = ranks.device
    if a.resume and (a.out / "checkpoint.pt").exists():
        run.restore()
    elif a.start:
        export.load_shipped(a.start, run.model)
    own_seed = a.seed + run.number + 1_000_000 * ranks.rank      # what is drawn differs between processes
    torch.manual_seed(own_seed)
    run.corruption = Corruption(run.source.audio, device, own_seed)
    rng = np.random.default_rng(own_seed)
    log(f"seed {a.seed}, {sum(p.numel() for p in run.model.parameters())} parameters, {len(run.source)} utterances of "
        f"{run.source.n.sum() / mel.RATE / 3600:.2f} h, from step {run.number} and {run.elapsed:.0f} s on, "
        f"{ranks.n} x {device.type}")

    wants_end = []
    signal.signal(signal.SIGTERM, lambda *_: wants_end.append(True))
    begin, before, first_step = time.monotonic(), run.elapsed, run.number
    clock = Clock(ranks, before, a.max_seconds, time.monotonic)
    last_log = last_score = begin
    last_save = begin + 20 - a.save_every           # there is something to go back to early
    heard_s, next_cuts = 0.0, a.cuts_from * a.max_seconds
    for batch in feed:
        now = time.monotonic()
        run.elapsed = a.max_seconds * clock.progress(now - begin >= a.stop_after or bool(wants_end))
        if run.elapsed >= a.max_seconds:
            break
        if clock.is_over:
            if ranks.is_first:
                run.checkpoint()
            log(f"left at step {run.number} after {run.elapsed:.0f} s; go on with --resume")
            return
        if run.elapsed >= next_cuts and not a.plain:
            cuts = find_cuts(run.model, run.front_end, run.source, device, rng)
            feed.add_cuts(cuts)
            run.source.cuts.update(cuts)
            next_cuts = run.elapsed + a.max_seconds / 8
            log(f"{len(run.source.cuts)} utterances can be cut, found in {time.monotonic() - now:.1f} s")
        values = run.step(batch, schedule(run.elapsed / a.max_seconds, run.number, a.warmup, a.decay))
        heard_s += ranks.n * batch.clips.length.sum() / mel.RATE
        if not ranks.is_first:
            continue
        if now - last_log >= a.log_every or run.number <= 3:
            answer, ctc, phone, right, norm = (float(x) for x in values)
            pace = (time.monotonic() - begin) / (run.number - first_step) * 1e3
            log(f"step {run.number} {run.elapsed:.1f} s  answer {answer:.3f}  ctc {ctc:.3f}  phone {phone:.3f}  "
                f"right {100 * right:.1f} %  norm {norm:.2f}  {pace:.0f} ms/step  {heard_s / 3600:.1f} h heard")
            last_log = now
            if ranks.n == 1 and not math.isfinite(answer + ctc + norm):
                log("a loss is no number; back to the last checkpoint")
                elapsed, number = run.elapsed, run.number
                run.restore()
                run.elapsed, run.number = elapsed, number
                continue
        if now - last_save >= a.save_every:
            run.checkpoint()
            last_save = now
        if now - last_score >= a.score_every:
            log("scores: " + brief(run.score(a.score_utterances)[0]))
            last_score = time.monotonic()
    feed.close()
    ranks.end()
    if not ranks.is_first:
        return
    run.checkpoint()
    finish(run, log)
    log(f"done after {run.elapsed:.0f} s and {run.number} steps")
    if device.type == "cuda":
        log(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
