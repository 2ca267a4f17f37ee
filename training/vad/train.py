"""Trains the voice detector on generated speech and noises, and writes it as GGUF with its scores.

    python3 train.py --corpus TRAIN --held HELD --out run --max-seconds 180

OUT/silero-vad-v5.gguf and OUT/scores.json are written at the end, OUT/checkpoint.pt every --save-seconds.
"""

import argparse
import json
import os
from pathlib import Path
import time

import numpy as np
import torch
import torch.nn.functional as F

import eval_set
import model as vad
from mixtures import Mixer, Options
import scores


def learning_rate(progress, step, warmup=100, decay=0.5):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


@torch.no_grad()
def judge(net, parts, device):
    """{group: [(probabilities, window shares, spans)]} by signal-to-noise ratio and kind of noise. Babble, which is speech of
    others, has a group of its own and is not in "all" and the ratios."""
    groups = {"all": []}
    for audio, shares, spans, ratio, kind in parts:
        p = vad.probabilities(net, audio.to(device)).cpu().numpy()
        names = [] if kind == "babble" else ["all"] + ([f"snr {ratio} dB"] if ratio is not None else [])
        if kind:
            names.append(("noise " if spans else "alone ") + kind)
        for name in names:
            groups.setdefault(name, []).append((p, shares, spans))
    return groups


def score(net, mixers, a, device):
    """Scores of each mixer's voices: "held" in noises that training does not have, "seen" in those that it has."""
    result = {}
    for name, mixer in mixers.items():
        parts = eval_set.recordings(mixer, 1000 + a.seed, a.score_seconds, "unseen" if name == "held" else "seen")
        result[name] = {group: scores.summary(rows) for group, rows in judge(net, parts, device).items()}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--held", required=True, help="corpus of voices that --corpus does not have")
    parser.add_argument("--out", required=True)
    parser.add_argument("--max-seconds", type=float, default=180)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each recording")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-seconds", type=float, default=90)
    parser.add_argument("--score-seconds", type=float, default=240, help="of each of ten parts of the evaluation")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="a few small steps, to see that everything runs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    if a.smoke:
        a.max_seconds, a.batch, a.seconds, a.score_seconds = 10, 8, 3.0, 20

    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    begin = time.monotonic()
    log = lambda text: print(f"[{time.monotonic() - begin:6.1f} s] {text}", flush=True)
    mixer = Mixer(a.corpus, device, a.seed, Options(seconds=a.seconds))
    net = vad.Silero().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=a.lr, betas=(0.9, 0.98), weight_decay=0.01)
    step, spent = 0, 0.0
    checkpoint = out / "checkpoint.pt"
    if a.resume and checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        step, spent = saved["step"], saved["spent"]
        mixer.random.manual_seed(a.seed + step)

    def save():
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
                    "spent": spent + time.monotonic() - started}, out / "checkpoint.tmp")
        os.replace(out / "checkpoint.tmp", checkpoint)

    log(f"seed {a.seed}, {sum(x.numel() for x in net.parameters())} parameters, {len(mixer.audio) / 16000 / 3600:.2f} h of speech, "
        f"batches of {a.batch} x {a.seconds} s on {device}")
    started = last_report = last_save = time.monotonic()
    state, total, n_total = None, 0.0, 0
    while True:
        progress = (spent + time.monotonic() - started) / a.max_seconds
        if progress >= 1:
            break
        mixture = mixer.mix(a.batch)
        # Half of the streams go on from what they heard before, the others begin.
        if state is not None:
            keep = (torch.rand(1, a.batch, 1, device=device) < 0.5).float()
            state = tuple(x.detach() * keep for x in state)
        logits, state = net(vad.spectra(mixture.audio), state)
        loss = F.binary_cross_entropy_with_logits(logits, mixture.windows)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = a.lr * learning_rate(progress, step)
        optimizer.step()
        total, n_total, step = total + loss.detach(), n_total + 1, step + 1
        now = time.monotonic()
        if now - last_report > 5 or step == 1:
            hours = step * a.batch * a.seconds / 3600
            log(f"step {step} loss {float(total) / n_total:.4f} progress {progress:.3f}, {hours:.0f} h heard")
            last_report, total, n_total = now, 0.0, 0
        if now - last_save > a.save_seconds:
            save()
            last_save = now
    save()
    vad.write(out / "silero-vad-v5.tmp", net)
    os.replace(out / "silero-vad-v5.tmp", out / "silero-vad-v5.gguf")
    log(f"{step} steps; wrote {out / 'silero-vad-v5.gguf'}")
    shipped = vad.read(out / "silero-vad-v5.gguf").to(device)       # as rounded to f16
    result = score(shipped, {"held": Mixer(a.held, device, a.seed), "seen": mixer}, a, device)
    result["steps"], result["seed"] = step, a.seed
    (out / "scores.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    for split in ("held", "seen"):
        for group, row in result[split].items():
            log(f"{split:5} {group:16} auc {row['auc']} found {row['speech_found']} false {row['silence_taken_for_speech']} "
                f"onset {row['onset_ms_p50']} ms offset {row['offset_ms_p50']} ms alarms/min {row['false_alarms_per_minute']}")
    log("done")


if __name__ == "__main__":
    main()
