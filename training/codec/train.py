"""Trains the demo codec on a generated corpus and writes it as GGUF.

    python3 train.py --corpus DIR [DIR ...] --held-seen DIR --held-unseen DIR --recogniser DIR --out run --max-seconds 620

OUT gets checkpoint.pt (every --save-seconds), log.txt and, at the end, codec.gguf, scores.json and pairs of WAV files.
--resume goes on from OUT/checkpoint.pt; with --total-seconds the schedule spans several such calls.
"""

import time

BEGIN = time.monotonic()

import argparse
import os
from pathlib import Path
import shutil

import torch

from crops import Crops
import fused_snake
import gguf_file
from hearing import Hearing
from recorded_steps import EagerSteps, RecordedSteps
import score
from trainer import Trainer


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True, nargs="+")
    parser.add_argument("--weights", type=float, nargs="+", help="how often each corpus is drawn (default: their hours)")
    parser.add_argument("--recogniser", nargs="+", metavar="DIR",
                        help="folders of recognisers that listen (default: none); the first one's word errors are logged")
    parser.add_argument("--held-seen")
    parser.add_argument("--held-unseen")
    parser.add_argument("--out", required=True)
    parser.add_argument("--max-seconds", type=float, default=620, help="of this call, from start to end")
    parser.add_argument("--total-seconds", type=float, help="of training over all calls (default: what this call has)")
    parser.add_argument("--reserve-seconds", type=float, default=60, help="of this call, for export and scores")
    parser.add_argument("--save-seconds", type=float, default=90)
    parser.add_argument("--score-seconds", type=float, default=150, help="between word error rates")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--start", help="codec.gguf to go on from (default: random weights)")
    parser.add_argument("--keep-codes", action="store_true",
                        help="with --start: train only what makes sound of codes; they stay what they are")
    parser.add_argument("--see-through", action="store_true",
                        help="with --start: learn to hear through noise and in other voices; what codes mean stays")
    parser.add_argument("--keep-voices", type=int, default=0, metavar="N",
                        help="with --see-through: voices of the first N corpora, which a speech model has, are not changed")
    parser.add_argument("--smoke", action="store_true", help="a tiny codec and batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crops", type=int, default=30, help="of a step; a third of that for long ones")
    parser.add_argument("--frames", type=int, default=25, help="of a crop, whole seconds; three times that for long ones")
    parser.add_argument("--free-steps", type=int, default=600, help="without quantisation, before codebooks start")
    parser.add_argument("--adversarial-from", type=float, default=0.7, help="share of the run")
    parser.add_argument("--warmup", type=int, default=200, help="steps")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--critics-lr", type=float, default=4e-4)
    parser.add_argument("--decay", type=float, default=0.4, help="share of the run in which the learning rate falls")
    parser.add_argument("--no-graphs", action="store_true", help="do not record steps as CUDA graphs")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    if a.keep_codes and not a.start:
        parser.error("--keep-codes needs --start: a codec whose codes are kept")
    if a.see_through and (not a.start or a.keep_codes):
        parser.error("--see-through needs --start, a codec whose codes keep their meaning, and does not go with --keep-codes")
    if a.smoke:
        a.crops, a.free_steps, a.warmup = 4, 4, 10
    return a


def schedule(progress, step, decay, warmup):
    """Warm up, hold, then fall linearly to zero."""
    return min(1.0, (step + 1) / warmup) * min(1.0, max(0.0, 1 - progress) / decay)


def main():
    a = options()
    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    log_file = open(out / "log.txt", "a", encoding="utf-8")

    def log(text):
        line = f"{time.monotonic() - BEGIN:6.1f} s  {text}"
        print(line, flush=True)
        log_file.write(line + "\n")
        log_file.flush()

    if os.environ.get("CC") and not shutil.which(os.environ["CC"]):
        del os.environ["CC"]        # Triton would start it
    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = False       # trying algorithms for so many shapes takes minutes
    is_compiled = fused_snake.install(device, not a.no_compile)
    trainer = Trainer(a, device)
    checkpoint = out / "checkpoint.pt"
    if a.start:
        trainer.start_from(a.start)
    if a.resume and checkpoint.exists():
        trainer.load(checkpoint)
    crops = Crops(a.corpus, device, a.seed + trainer.step_count, a.weights)
    hear = Hearing(device, a.seed, trainer.config.sample_rate_hz, crops.samples) if a.see_through else None
    held = {name: folder for name, folder in (("held_seen", a.held_seen), ("held_unseen", a.held_unseen)) if folder}
    log(f"seed {a.seed}, {sum(x.numel() for x in trainer.codec.parameters())} parameters on {device}, snake compiled: "
        f"{is_compiled}, {crops.hours:.2f} hours, phones: {crops.has_phones}, from step {trainer.step_count}")
    until = a.max_seconds - a.reserve_seconds
    first_seconds, begin = trainer.trained_seconds, time.monotonic() - BEGIN
    whole = a.total_seconds or first_seconds + until - begin
    saved = shown = scored = time.monotonic()
    judge = trainer.judge_of_speech
    shown_step, mean = trainer.step_count, {}
    may_record = device.type == "cuda" and not a.no_graphs
    steps = RecordedSteps(trainer.step, log, fused_snake.rely_on_none) if may_record else EagerSteps(trainer.step)
    while True:
        elapsed = time.monotonic() - BEGIN
        trainer.trained_seconds = first_seconds + elapsed - begin
        progress = trainer.trained_seconds / whole
        if progress >= 1 or elapsed >= until:
            break
        if not trainer.has_codebooks and trainer.step_count >= a.free_steps:
            n = 2 if a.smoke else 24
            trainer.start_codebooks(crops.draw(a.crops, a.frames * trainer.config.hop)[0] for _ in range(n))
        is_long = trainer.step_count % 4 == 3
        n_crops, n_frames = (max(1, a.crops // 3), 3 * a.frames) if is_long else (a.crops, a.frames)
        adversarial = min(1.0, max(0.0, (progress - a.adversarial_from) / 0.03))
        trainer.learner.may_restart = progress < 0.75
        trainer.set(schedule(progress, trainer.step_count, a.decay, a.warmup), adversarial)
        sound, phones, folder = crops.draw(n_crops, n_frames * trainer.config.hop)
        clean, *heard = hear(sound, folder < a.keep_voices) if hear else (sound,)
        parts = steps.run((clean, phones, *heard), trainer.phase())
        trainer.step_count += 1
        for name, value in parts.items():
            mean[name] = mean.get(name, value).lerp(value, 0.05)
        now = time.monotonic()
        if now - shown > 5 or trainer.step_count <= 3:
            rate = 1e3 * (now - shown) / (trainer.step_count - shown_step)
            levels = (0, trainer.config.n_codebook - 1)
            used = [score.perplexity(trainer.learner.counts[k]) for k in levels]
            log(f"step {trainer.step_count} {100 * progress:.1f} % {rate:.0f} ms a step  "
                + "  ".join(f"{name} {float(value):.3f}" for name, value in mean.items())
                + f"  codes {used[0]:.0f} .. {used[1]:.0f}")
            shown, shown_step = now, trainer.step_count
        if now - saved > a.save_seconds:
            trainer.save(checkpoint)
            saved = time.monotonic()
            log(f"saved, mel distances {score.quick(trainer.averaged_codec(), held, device, 1 if a.smoke else 4)}")
        if judge and held and now - scored > a.score_seconds and trainer.has_codebooks:
            scored = now
            log(f"word error rates {score.intelligibility(judge, trainer.averaged_codec(), held, device, 40, log)}")
    trainer.save(checkpoint)
    gguf_file.write(out / "unfinished.gguf", trainer.averaged_codec())
    os.replace(out / "unfinished.gguf", out / "codec.gguf")
    log(f"wrote {out / 'codec.gguf'}: {(out / 'codec.gguf').stat().st_size} bytes after {trainer.step_count} steps")
    score.write_scores(out, gguf_file.load(out / "codec.gguf", device), held or {"train": a.corpus[0]}, device, log,
                       n=3 if a.smoke else 24, judge=judge, n_heard=2 if a.smoke else 120)
    if device.type == "cuda":
        log(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    log("done")


if __name__ == "__main__":
    main()
