"""Trains the speech model on the codes of a corpus and writes OUT/base.gguf, OUT/scores.json and sample codes.

    python3 train.py --corpus DIR --codes codes.npy --held DIR --held-codes held.npy --out run --max-seconds 900

OUT/checkpoint.pt is written every --save-every seconds and after --call-seconds; --resume goes on from it with what is
left of --max-seconds.
"""

from dataclasses import asdict
import json
import multiprocessing
from pathlib import Path
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import paths  # noqa: F401
import base_file
from corpus import Corpus
from data import Sampler, Speech
from evaluate import accuracies, agreement, write_samples
from network_input import Batches
from optimizer import Optimizer
from options import parse_arguments
from prompt import vocabulary
from speech_lm import CODEBOOK_WEIGHTS, Config, SpeechLm, config_for, masked_attention, same_document
from spoken_form import to_say
from voice_words import attributes_and_presets


def schedule(progress, step, warmup, decay):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


class Attention:
    """Attention inside each document of packed rows: block-sparse and compiled, or with a dense mask."""

    def __init__(self, is_compiled):
        self.is_compiled = is_compiled
        if is_compiled:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            self.flex_attention, self.create_block_mask = flex_attention, torch.compile(create_block_mask)

    def mask(self, documents):
        if not self.is_compiled:
            return same_document(documents)
        n_batch, n = documents.shape
        visible = lambda b, h, q, k: documents[b, q] == documents[b, k]
        return self.create_block_mask(visible, n_batch, None, n, n, device=documents.device)

    def attend(self, mask):
        if self.is_compiled:
            return lambda q, k, v: self.flex_attention(q, k, v, block_mask=mask)
        return masked_attention(mask)


def loss_function(model, attention):
    def loss_of(text, codes, is_text, pos, mask, targets, labels, weights):
        """targets: (m,) places in the flattened rows; labels, weights: (m, 8), 0 where nothing is to be learnt."""
        hidden = model.hidden(text, codes, is_text, pos, attention.attend(mask)).flatten(0, 1)[targets]
        losses = F.cross_entropy(model.logits(hidden).float().flatten(0, 1), labels.flatten(), reduction="none")
        return (losses * weights.flatten()).sum() / weights.sum()
    return loss_of


def make_batches(sampler_of, n_workers):
    """Endless batches, drawn by processes of their own."""
    if n_workers == 0:
        sampler = sampler_of(0)
        while True:
            yield sampler.batch()
    context = multiprocessing.get_context("fork")
    queue = context.Queue(maxsize=4 * n_workers)

    def draw(worker):
        sampler = sampler_of(worker)
        while True:
            queue.put(sampler.batch())

    for worker in range(n_workers):
        context.Process(target=draw, args=(worker,), daemon=True).start()
    while True:
        yield queue.get()


def main():
    a = parse_arguments(__doc__.splitlines()[0])
    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    log_file, begin = open(out / "log.txt", "a", encoding="utf-8"), time.monotonic()

    def log(text):
        line = f"{time.monotonic() - begin:6.1f} s  {text}"
        print(line, flush=True)
        log_file.write(line + "\n")
        log_file.flush()

    random.seed(a.seed)
    torch.manual_seed(a.seed)
    if device.type == "cpu":
        torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    attributes, presets = attributes_and_presets(a.presets)
    load = lambda folders, codes: Speech([Corpus(folder) for folder in folders], [np.load(file) for file in codes], to_say,
                                         attributes, presets)
    speech = load(a.corpus, a.codes)
    held = load([a.held], [a.held_codes]) if a.held else speech
    if int(max(speech.codes.max(), held.codes.max())) >= a.n_codes:
        raise SystemExit(f"{a.codes} has codes up to {speech.codes.max()}; give --n-codes")
    log(f"seed {a.seed}, {len(speech.text)} utterances, {speech.n.sum() / 90000:.2f} h, by words: {speech.presets}")

    checkpoint_file = out / "checkpoint.pt"
    saved = torch.load(checkpoint_file, map_location="cpu") if a.resume and checkpoint_file.exists() else None
    first_step, spent = (saved["step"], saved["seconds"]) if saved else (0, 0.0)
    # Workers begin before the GPU is used, which a forked process cannot.
    batches = make_batches(lambda worker: Sampler(speech, [a.seed, first_step, worker], a.rows), a.workers)
    first_batch = next(batches)
    log("batches are being drawn")

    config = config_for(a.n_codes, len(vocabulary(a.n_codes + 1)), n_embd=a.n_embd, n_layer=a.n_layer, n_head=a.n_head,
                        head_dim=a.head_dim, n_ff=a.n_ff)
    model = SpeechLm(Config(**saved["config"]) if saved else config).to(device)
    optimizer = Optimizer(model, a.muon_lr, a.adam_lr)
    parameters = list(model.parameters())
    average = [p.detach().clone() for p in parameters]
    if saved:
        model.load_state_dict(saved["model"])
        average = [saved["average"][name].to(device) for name, _ in model.named_parameters()]
        optimizer.adam.load_state_dict(saved["adam"])
        for (_, buffer), old in zip(optimizer.muon.groups, saved["muon"]):
            buffer.copy_(old)
        log(f"goes on from step {first_step} after {spent:.0f} s")
    log(f"{sum(p.numel() for p in parameters)} parameters, {a.rows * 1024} positions a step, {asdict(model.config)}")

    averaged = SpeechLm(model.config).to(device).eval()

    def take_average():
        with torch.no_grad():
            for p, q in zip(averaged.parameters(), average):
                p.copy_(q)
        return averaged

    def save(step, seconds):
        names = [name for name, _ in model.named_parameters()]
        torch.save({"config": asdict(model.config), "model": model.state_dict(), "average": dict(zip(names, average)),
                    "adam": optimizer.adam.state_dict(), "muon": [buffer for _, buffer in optimizer.muon.groups],
                    "step": step, "seconds": seconds}, out / "unfinished.pt")
        (out / "unfinished.pt").replace(checkpoint_file)

    inputs = Batches(speech, model.config, device)
    is_compiled = device.type == "cuda" and not a.no_compile
    attention = Attention(is_compiled)
    loss_of = loss_function(model, attention)
    if is_compiled:
        loss_of = torch.compile(loss_of, dynamic=False)
    weights = torch.tensor(CODEBOOK_WEIGHTS, dtype=torch.float32, device=device)

    def take_step(batch):
        x = inputs.masked(batch, weights)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            loss = loss_of(x.text, x.codes, x.is_text, x.pos, attention.mask(x.document), x.targets, x.labels, x.weights)
        loss.backward()
        return loss.detach()

    step, total, start = first_step, torch.zeros((), device=device), time.monotonic()
    last_log = last_score = last_save = start
    n_since = 0
    while True:
        now = time.monotonic()
        progress = (spent + now - start) / a.max_seconds
        if progress >= 1 or now - begin > a.call_seconds:
            break
        batch = first_batch if step == first_step else next(batches)
        try:
            loss = take_step(batch)
        except Exception as error:      # compilers fail in ways of their own
            if not attention.is_compiled or step > first_step:
                raise
            log(f"compiling failed ({type(error).__name__}: {str(error)[:300]}); goes on without")
            attention = Attention(False)
            loss_of = loss_function(model, attention)
            for p in parameters:
                p.grad = None
            loss = take_step(batch)
        optimizer.step(schedule(progress, step, a.warmup, a.decay))
        decay = min(a.average, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_mul_(average, decay)
            torch._foreach_add_(average, parameters, alpha=1 - decay)
        total += loss
        step, n_since = step + 1, n_since + 1
        now = time.monotonic()
        if n_since == 100 or now - last_log > 5 or step <= first_step + 3:
            mean = float(total) / n_since           # waits for the GPU
            now = time.monotonic()
            speed = n_since * a.rows * 1.024 / (now - last_log)
            log(f"step {step}  loss {mean:.4f}  {speed:.0f} k positions/s  progress {progress:.3f}")
            total.zero_()
            n_since, last_log = 0, now
        if now - last_score > a.score_every:
            right = accuracies(take_average(), held, device, min(a.rows, 16))
            log(f"step {step}  held: {right}  {agreement(averaged, held, min(a.samples, 12))}")
            last_score = time.monotonic()
        if now - last_save > a.save_every:
            save(step, spent + now - start)
            last_save = time.monotonic()

    save(step, spent + time.monotonic() - start)
    if progress < 1:
        log(f"step {step} is saved at progress {progress:.3f}; call again with --resume")
        return
    final = take_average()
    base_file.write(out / "base.gguf", model.config, base_file.weights_of(final))
    log(f"{out / 'base.gguf'}: {(out / 'base.gguf').stat().st_size} bytes")
    scores = {"steps": step, "seconds": round(spent + time.monotonic() - start, 1), "positions": step * a.rows * 1024,
              "bytes": (out / "base.gguf").stat().st_size, "seed": a.seed}
    base_file.load_into(final, base_file.read(out / "base.gguf")[1])        # what is scored is what is shipped
    for name, measure in (("accuracy", lambda: accuracies(final, held, device, min(a.rows, 64))),
                          ("agreement", lambda: agreement(final, held, a.samples)),
                          ("samples", lambda: write_samples(final, held, out / "samples", a.samples))):
        try:
            scores[name] = measure()
        except Exception as error:      # the model is written; a failed score is only missing
            scores[name] = f"{type(error).__name__}: {error}"
        log(f"{name}: {scores[name]}")
    (out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    if device.type == "cuda":
        log(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    log("done")


if __name__ == "__main__":
    main()
