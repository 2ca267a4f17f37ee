"""Trains the demo codec on a generated corpus and writes it as GGUF.

    python3 train.py --corpus DIR --held-seen DIR --held-unseen DIR --out run --max-seconds 560

OUT gets checkpoint.pt (every --save-seconds), log.txt and, at the end, codec.gguf, scores.json and pairs of WAV files.
--resume goes on from OUT/checkpoint.pt; with --total-seconds the schedule spans several such calls.
"""

import time

BEGIN = time.monotonic()

import argparse
from contextlib import nullcontext
import os
from pathlib import Path

import torch

from crops import Crops
from discriminators import Critics
import fused_snake
import gguf_file
import losses
from model import TINY, Codec, Config
from quantiser import CodebookLearner
from recorded_steps import EagerSteps, RecordedSteps
import score

BETAS = (0.8, 0.99)
MOST_NORM, MOST_CRITICS_NORM = 60.0, 10.0       # of gradients
AVERAGE = 0.99                                  # decay of the average of the weights, which is exported
WEIGHTS = {"mel": 15.0, "commitment": 0.25, "content": 2.0, "adversarial": 1.0, "feature": 2.0}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--held-seen")
    parser.add_argument("--held-unseen")
    parser.add_argument("--out", required=True)
    parser.add_argument("--max-seconds", type=float, default=560, help="of this call, from start to end")
    parser.add_argument("--total-seconds", type=float, help="of training over all calls (default: what this call has)")
    parser.add_argument("--reserve-seconds", type=float, default=40, help="of this call, for export and scores")
    parser.add_argument("--save-seconds", type=float, default=90)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="a tiny codec and batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crops", type=int, default=48, help="of a step; a third of that for long ones")
    parser.add_argument("--frames", type=int, default=30, help="of a crop, three times that for long ones")
    parser.add_argument("--free-steps", type=int, default=300, help="without quantisation, before codebooks start")
    parser.add_argument("--adversarial-from", type=float, default=0.4, help="share of the run")
    parser.add_argument("--warmup", type=int, default=200, help="steps")
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--critics-lr", type=float, default=4e-4)
    parser.add_argument("--decay", type=float, default=0.4, help="share of the run in which the learning rate falls")
    parser.add_argument("--no-graphs", action="store_true", help="do not record steps as CUDA graphs")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    if a.smoke:
        a.crops, a.free_steps, a.frames, a.warmup = 6, 4, 12, 10
    return a


class Trainer:
    def __init__(self, a, device):
        self.a, self.device = a, device
        self.config = Config(**(TINY if a.smoke else {}))
        self.codec = Codec(self.config).to(device)
        self.head = losses.ContentHead(self.config.n_latent).to(device)
        self.critics = Critics(*((4, 2) if a.smoke else (32, 16))).to(device)
        self.mel = losses.MelLoss().to(device)
        self.learner = CodebookLearner(self.codec.quantizer)
        self.average = {name: x.detach().clone() for name, x in self.codec.state_dict().items()}
        self.trained = list(self.codec.parameters()) + list(self.head.parameters())
        self.optimizer = optimizer(self.trained, a.lr, device)
        self.critics_optimizer = optimizer(self.critics.parameters(), a.critics_lr, device)
        self.adversarial = torch.zeros((), device=device)       # how much the critics count, in 0..1
        self.step_count, self.trained_seconds, self.has_codebooks, self.has_critics = 0, 0.0, False, False

    def half(self):
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False) if self.device.type == "cuda" else nullcontext()

    PARTS = ("codec", "head", "critics", "optimizer", "critics_optimizer")
    COUNTS = ("step_count", "trained_seconds", "has_codebooks")

    def save(self, path):
        state = {name: getattr(self, name).state_dict() for name in self.PARTS}
        state.update({name: getattr(self, name) for name in self.COUNTS}, average=self.average, learner=self.learner.state(),
                     config=self.config.as_dict())
        torch.save(state, str(path) + ".unfinished")
        os.replace(str(path) + ".unfinished", path)

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        for name in self.PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name in self.COUNTS:
            setattr(self, name, state[name])
        for name, x in state["average"].items():
            self.average[name].copy_(x)
        self.learner.load(state["learner"])

    @torch.no_grad()
    def start_codebooks(self, batches):
        with self.half():
            latents = [self.codec.latent(sound) for sound in batches]
        self.learner.start(self.codec.quantizer, torch.cat([r.flatten(0, 1) for r in latents]))
        for name, x in self.codec.quantizer.state_dict().items():
            self.average["quantizer." + name].copy_(x)
        self.has_codebooks = True

    def quantise(self, r):
        """r: (crops, frames, n_latent). 40 % of the crops are coded by fewer levels."""
        n_crops, n_frames = r.shape[:2]
        n_levels = torch.randint(2, self.config.n_codebook + 1, (n_crops,), device=self.device)
        n_levels = torch.where(torch.rand(n_crops, device=self.device) < 0.4, n_levels, self.config.n_codebook)
        z, first_two, commitment = self.codec.quantizer(r.flatten(0, 1), n_levels.repeat_interleave(n_frames), self.learner)
        return z.unflatten(0, (n_crops, n_frames)), first_two.unflatten(0, (n_crops, n_frames)), commitment

    def phase(self):
        """What differs between steps but numbers; a recorded step repeats one phase."""
        return self.has_codebooks, self.has_critics, self.learner.may_restart

    def set(self, scale, adversarial):
        """Learning rates for the next step, as a share of their full values, and how much the critics count."""
        for chosen, lr in ((self.optimizer, self.a.lr), (self.critics_optimizer, self.a.critics_lr)):
            for group in chosen.param_groups:
                if torch.is_tensor(group["lr"]):
                    group["lr"].fill_(lr * scale)
                else:
                    group["lr"] = lr * scale
        self.adversarial.fill_(adversarial)
        self.has_critics = adversarial > 0

    def step(self, real):
        """One step of both sides on sound (crops, samples). Nothing in it waits for the device."""
        with self.half():
            r = self.codec.latent(real)
        z, first_two, commitment = self.quantise(r) if self.has_codebooks else (r, r, torch.zeros((), device=self.device))
        with self.half():
            made = self.codec.sound(z)
        parts = {"mel": self.mel(made, real), "commitment": commitment, "content": self.head(first_two, real)}
        total = sum(WEIGHTS[name] * value for name, value in parts.items())
        if self.has_critics:
            parts["hinge"], heard, of_made = self.judge(real, made.detach())
            parts.update(heard)
            torch.autograd.backward([total, made], [None, self.adversarial * of_made])
        else:
            total.backward()
        parts["norm"] = apply(self.optimizer, self.trained, MOST_NORM)
        with torch.no_grad():
            state = self.codec.state_dict()
            torch._foreach_mul_(list(self.average.values()), AVERAGE)
            torch._foreach_add_(list(self.average.values()), [state[name] for name in self.average], alpha=1 - AVERAGE)
        return {name: value.detach() for name, value in parts.items()}

    def judge(self, real, made):
        """Trains the critics; yields their loss, what they say, and its gradient with respect to the sound that was made."""
        made.requires_grad_()
        with self.half():
            real_scores, real_layers = self.critics(real)
            made_scores, made_layers = self.critics(made)
        hinge = losses.hinge_of_critics(real_scores, made_scores)
        weights = list(self.critics.parameters())
        gradients = torch.autograd.grad(hinge, weights, retain_graph=True)
        heard = {"adversarial": losses.adversarial_loss(made_scores), "feature": losses.feature_loss(real_layers, made_layers)}
        of_made, = torch.autograd.grad(sum(WEIGHTS[name] * value for name, value in heard.items()), made)
        for weight, gradient in zip(weights, gradients):
            weight.grad = gradient
        apply(self.critics_optimizer, weights, MOST_CRITICS_NORM)
        return hinge, heard, of_made

    def averaged_codec(self):
        codec = Codec(self.config).to(self.device)
        codec.load_state_dict(self.average)
        return codec.eval()


def optimizer(weights, lr, device):
    if device.type != "cuda":
        return torch.optim.AdamW(weights, lr=lr, betas=BETAS, weight_decay=0.0)
    return torch.optim.AdamW(weights, lr=torch.tensor(lr, device=device), betas=BETAS, weight_decay=0.0, fused=True, capturable=True)


def apply(optimizer, weights, most):
    """A step with the gradient's norm at most `most`; a gradient that is not finite counts as none. Yields the norm."""
    norm = torch.nn.utils.clip_grad_norm_(weights, most)
    for weight in weights:
        if weight.grad is not None:
            torch.nan_to_num_(weight.grad, 0.0, 0.0, 0.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


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

    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = False       # trying algorithms for so many shapes takes minutes
    is_compiled = fused_snake.install(device, not a.no_compile)
    trainer = Trainer(a, device)
    checkpoint = out / "checkpoint.pt"
    if a.resume and checkpoint.exists():
        trainer.load(checkpoint)
    crops = Crops(a.corpus, device, a.seed + trainer.step_count)
    held = {name: folder for name, folder in (("held_seen", a.held_seen), ("held_unseen", a.held_unseen)) if folder}
    log(f"seed {a.seed}, {sum(x.numel() for x in trainer.codec.parameters())} parameters on {device}, snake compiled: "
        f"{is_compiled}, {crops.hours:.2f} hours, from step {trainer.step_count}")
    until = a.max_seconds - a.reserve_seconds
    first_seconds, begin = trainer.trained_seconds, time.monotonic() - BEGIN
    whole = a.total_seconds or first_seconds + until - begin
    saved = shown = time.monotonic()
    shown_step, mean = trainer.step_count, {}
    steps = RecordedSteps(trainer.step, log) if device.type == "cuda" and not a.no_graphs else EagerSteps(trainer.step)
    while True:
        elapsed = time.monotonic() - BEGIN
        trainer.trained_seconds = first_seconds + elapsed - begin
        progress = trainer.trained_seconds / whole
        if progress >= 1 or elapsed >= until:
            break
        if not trainer.has_codebooks and trainer.step_count >= a.free_steps:
            trainer.start_codebooks(crops.draw(a.crops, a.frames * trainer.config.hop) for _ in range(2 if a.smoke else 12))
        is_long = trainer.step_count % 4 == 3
        n_crops, n_frames = (max(1, a.crops // 3), 3 * a.frames) if is_long else (a.crops, a.frames)
        adversarial = min(1.0, max(0.0, (progress - a.adversarial_from) / 0.03))
        trainer.learner.may_restart = progress < 0.75
        trainer.set(schedule(progress, trainer.step_count, a.decay, a.warmup), adversarial)
        parts = steps.run(crops.draw(n_crops, n_frames * trainer.config.hop), trainer.phase())
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
    trainer.save(checkpoint)
    gguf_file.write(out / "unfinished.gguf", trainer.averaged_codec())
    os.replace(out / "unfinished.gguf", out / "codec.gguf")
    log(f"wrote {out / 'codec.gguf'}: {(out / 'codec.gguf').stat().st_size} bytes after {trainer.step_count} steps")
    score.write_scores(out, gguf_file.load(out / "codec.gguf", device), held or {"train": a.corpus}, device, log,
                       n=3 if a.smoke else 24)
    if device.type == "cuda":
        log(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    log("done")


if __name__ == "__main__":
    main()
