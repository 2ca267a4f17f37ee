"""Trains the speech model on the codes of a corpus and writes OUT/base.gguf, OUT/scores.json and sample codes.

    python3 train.py --corpus DIR --codes codes.npy --held DIR --held-codes held.npy --out run --max-seconds 900
    torchrun --standalone --nproc-per-node 3 train.py ...       the same on several GPUs, with --rows for each of them

With --codec and --recogniser the held-out texts are spoken and heard every --hear-every seconds. OUT/checkpoint.pt is
written every --save-every seconds and after --call-seconds; --resume goes on from it with what is left of
--max-seconds.
"""

from dataclasses import asdict
import json
from pathlib import Path
import random
import time

import numpy as np
import torch

import paths  # noqa: F401
import base_file
from corpus import Corpus
from data import NO_PHONE, ROW, Sampler, Speech
from evaluate import accuracies, agreement
from feeding import drawn, placed
from gradients import Gradients
from listening import Listening
from maskgit import Options
from network_input import Batches
from optimizer import Optimizer
from options import parse_arguments
from prompt import vocabulary
from ranks import Clock, Ranks
from speech_lm import CODEBOOK_WEIGHTS, Config, SpeechLm, config_for
from spoken_form import to_say
from voice_words import attributes_and_presets


def schedule(progress, step, warmup, decay):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


def load_speech(a, log):
    attributes, presets = attributes_and_presets(a.presets)
    load = lambda folders, codes: Speech([Corpus(folder) for folder in folders], [np.load(file) for file in codes],
                                         to_say, attributes, presets)
    speech = load(a.corpus, a.codes)
    held = load([a.held], [a.held_codes]) if a.held else speech
    if int(max(speech.codes.max(), held.codes.max())) >= a.n_codes:
        raise SystemExit(f"{a.codes} has codes up to {speech.codes.max()}; give --n-codes")
    pace = (speech.n / speech.expected)[speech.preset_rows]
    log(f"seed {a.seed}, {len(speech.text)} utterances, {speech.n.sum() / 90000:.2f} h, by words: {speech.presets}, "
        f"frames over expected ones: mean {pace.mean():.3f}, median {np.median(pace):.3f}; "
        f"{(speech.phones != NO_PHONE).mean():.1%} of the phones known")
    return speech, held


def begin_with(model, path, has_new_codes, log):
    """Takes over the weights of a checkpoint or a file, all but the tables of codes if these mean something else."""
    if path.endswith(".gguf"):
        found = {name: torch.from_numpy(np.array(x)) for name, x in base_file.read(path)[1].items()}
    else:
        found = torch.load(path, map_location="cpu")["average"]
    own = model.state_dict()
    taken = {name: x for name, x in found.items()
             if name in own and own[name].shape == x.shape and not (has_new_codes and name.startswith("audio_"))}
    model.load_state_dict({**own, **taken})
    log(f"begins with {len(taken)} of {len(own)} tensors of {path}")


def main():
    a = parse_arguments(__doc__.splitlines()[0])
    ranks = Ranks(a.device)
    a.rows = a.rows or (64 if ranks.n < 3 else 32)
    out, device = Path(a.out), ranks.device
    out.mkdir(parents=True, exist_ok=True)
    log_file, begin = open(out / "log.txt", "a", encoding="utf-8") if ranks.is_first else None, time.monotonic()

    def log(text):
        if ranks.is_first:
            line = f"{time.monotonic() - begin:6.1f} s  {text}"
            print(line, flush=True)
            log_file.write(line + "\n")
            log_file.flush()

    random.seed(a.seed)
    torch.manual_seed(a.seed)
    if device.type == "cpu":
        torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    speech, held = load_speech(a, log)
    checkpoint_file = out / "checkpoint.pt"
    saved = torch.load(checkpoint_file, map_location="cpu") if a.resume and checkpoint_file.exists() else None
    first_step, spent = (saved["step"], saved["seconds"]) if saved else (0, 0.0)
    # Workers begin before the GPU is used, which a forked process cannot.
    batches = drawn(lambda worker: Sampler(speech, [a.seed, first_step, ranks.rank, worker], a.rows), a.workers)
    log("batches are being drawn")

    ranks.start()
    batches = placed(batches, device)
    config = config_for(a.n_codes, len(vocabulary(a.n_codes + 1)), n_embd=a.n_embd, n_layer=a.n_layer, n_head=a.n_head,
                        head_dim=a.head_dim, n_ff=a.n_ff)
    model = SpeechLm(Config(**saved["config"]) if saved else config, a.dropout).to(device)
    if a.start_from and not saved:
        begin_with(model, a.start_from, a.new_codes, log)
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
    n_positions = a.rows * ROW * ranks.n
    log(f"{sum(x.size for x in base_file.weights_of(model).values())} parameters, {n_positions} positions a step on "
        f"{ranks.n} x {device.type}, {asdict(model.config)}")
    torch.manual_seed(a.seed + 1 + 1000 * ranks.rank + first_step)      # what is masked differs between processes

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
        base_file.write(out / "unfinished.gguf", model.config, base_file.weights_of(take_average()))
        (out / "unfinished.gguf").replace(out / "base.gguf")

    inputs = Batches(speech, model.config, device)
    gradients = Gradients(model, not a.no_compile, not a.no_graphs, log)
    weights = torch.tensor(CODEBOOK_WEIGHTS, dtype=torch.float32, device=device)
    phone_weight = torch.zeros((), device=device)
    listening = Listening(a.codec, a.recogniser, a.hear_device or device, log)
    step, total = first_step, torch.zeros(2, device=device)
    clock = Clock(ranks, spent, a.max_seconds, time.monotonic)
    last_log = last_score = last_heard = last_save = time.monotonic()
    n_since = 0
    while True:
        progress = clock.progress(time.monotonic() - begin > a.call_seconds)
        if clock.is_over:
            break
        batch = next(batches)
        phone_weight.fill_(a.phone_weight + (a.phone_weight_at_end - a.phone_weight) * progress)
        parts = gradients.of(inputs.masked(batch, weights, has_errors=True), phone_weight)
        ranks.average_gradients(parameters)
        optimizer.step(schedule(progress, step, a.warmup, a.decay))
        decay = min(a.average, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_mul_(average, decay)
            torch._foreach_add_(average, parameters, alpha=1 - decay)
        total += parts
        step, n_since = step + 1, n_since + 1
        if not ranks.is_first:
            continue
        now = time.monotonic()
        if now - last_log > 5 or step <= first_step + 3:
            codes_loss, phones_loss = (total / n_since).tolist()        # waits for the GPU
            now = time.monotonic()
            log(f"step {step}  codes {codes_loss:.4f}  phones {phones_loss:.4f}  "
                f"{n_since * n_positions / 1000 / (now - last_log):.0f} k positions/s  progress {progress:.3f}")
            total.zero_()
            n_since, last_log = 0, now
        if now - last_score > a.score_every:
            log(f"step {step}  held: {accuracies(take_average(), held, device, min(a.rows, 32))}  "
                f"agreement {agreement(averaged, held, min(a.samples, 12))}")
            last_score = time.monotonic()
        if now - last_heard > a.hear_every:
            listening.start(take_average(), held, out / "heard", min(a.samples, 24), f"step {step}")
            last_heard = time.monotonic()
        if now - last_save > a.save_every:
            save(step, clock.seconds())
            last_save = time.monotonic()

    ranks.end()
    if ranks.is_first:
        finish(a, out, device, log, progress, step, clock, save, take_average, held, listening, n_positions)


def finish(a, out, device, log, progress, step, clock, save, take_average, held, listening, n_positions):
    """Writes the checkpoint and, where the run is over, the model, its scores and samples."""
    seconds = clock.seconds()
    save(step, seconds)
    if progress < 1:
        log(f"step {step} is saved at progress {progress:.3f}; call again with --resume")
        return
    final = take_average()
    n_bytes = (out / "base.gguf").stat().st_size
    log(f"{out / 'base.gguf'}: {n_bytes} bytes")
    scores = {"steps": step, "seconds": round(seconds, 1), "positions": step * n_positions, "bytes": n_bytes,
              "seed": a.seed}
    base_file.load_into(final, base_file.read(out / "base.gguf")[1])        # what is scored is what is shipped
    n_heard = max(a.samples, 2)
    confident_first = Options(position_temperature=1)
    speak = lambda name, options: listening.start(final, held, out / name, n_heard, name, options, is_last=True)
    for name, measure in (("accuracy", lambda: accuracies(final, held, device, min(a.rows, 64))),
                          ("agreement", lambda: agreement(final, held, min(n_heard, 60))),
                          ("samples", lambda: speak("samples", Options())),
                          ("word_error_rates", listening.wait),
                          ("samples_confident_first", lambda: speak("samples_confident_first", confident_first)),
                          ("word_error_rates_confident_first", listening.wait)):
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
