"""Trains the speaker verifier on generated voices and writes it as GGUF with its equal error rates.

    python3 train.py --corpus TRAIN --held-seen DIR --held-unseen DIR --out run --max-seconds 120

Additive angular margin softmax (Deng et al. 2019) over the voices of the corpus; rows are parts of utterances in noise,
with bent spectra and any level. OUT/speaker-verifier.gguf and OUT/scores.json are written at the end.
"""

import argparse
import json
import math
import os
from pathlib import Path
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
from augment import SEEN_NOISES, Noise
from corpus import Corpus
import model as speaker

SCALE, MARGIN = 30.0, 0.2


class Rows:
    """Parts of utterances on the device, each with the number of its voice."""

    def __init__(self, folder, device, seed):
        corpus = Corpus(folder)
        self.device = device
        self.audio = torch.from_numpy(np.array(corpus.audio(16))).to(device)
        self.starts, self.counts = (torch.from_numpy(x).to(device) for x in (corpus.start16, corpus.n16))
        self.voices = sorted(set(corpus.voice))
        number = {voice: i for i, voice in enumerate(self.voices)}
        self.owner = torch.tensor([number[voice] for voice in corpus.voice], device=device)
        by_voice = [(self.owner == i).nonzero()[:, 0] for i in range(len(self.voices))]
        self.sizes = torch.tensor([len(rows) for rows in by_voice], device=device)
        self.by_voice = torch.nn.utils.rnn.pad_sequence(by_voice, batch_first=True)
        self.random = torch.Generator(device=device).manual_seed(seed)
        self.noise = Noise(speaker.RATE, self.random, self.audio)

    def uniform(self, shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(shape, generator=self.random, device=self.device)

    def take(self, n_batch, n_samples):
        """(audio, voices): every voice as likely; what is shorter than a part is followed by silence."""
        voices = torch.randint(len(self.voices), (n_batch,), generator=self.random, device=self.device)
        pick = self.by_voice[voices, (self.uniform((n_batch,)) * self.sizes[voices]).long()]
        room = (self.counts[pick] - n_samples).clamp(min=0)
        begin = (self.uniform((n_batch,)) * (room + 1)).long()
        at = begin[:, None] + torch.arange(n_samples, device=self.device)
        inside = at < self.counts[pick][:, None]
        index = self.starts[pick][:, None] + torch.where(inside, at, torch.zeros_like(at))
        return self.audio[index].float().masked_fill(~inside, 0) / 32768, voices

    def spoil(self, audio):
        """Noise at 5 to 40 dB for half of the rows, a slope of the spectrum, a level."""
        n_batch, n_samples = audio.shape
        which = torch.randint(len(SEEN_NOISES), (n_batch,), generator=self.random, device=self.device)
        sound = torch.zeros_like(audio)
        for i, kind in enumerate(SEEN_NOISES):
            rows = (which == i).nonzero()[:, 0]
            if len(rows):
                sound[rows] = self.noise.draw(kind, len(rows), n_samples)
        ratio = self.uniform((n_batch, 1), 5, 40)
        sound = sound * audio.square().mean(1, keepdim=True).sqrt() * 10 ** (-ratio / 20)
        audio = audio + torch.where(self.uniform((n_batch, 1)) < 0.5, sound, torch.zeros_like(sound))
        slope = self.uniform((n_batch, 1), -0.25, 0.25)            # of a filter x[t] + slope x[t - 1]
        audio = audio + slope * F.pad(audio, (1, 0))[:, :-1]
        audio = audio * 10 ** (self.uniform((n_batch, 1), -30, 3) / 20)
        return (audio * 32768).round().clamp(-32768, 32767) / 32768


@torch.no_grad()
def embeddings_of(net, folder, device, filters, limit, seed):
    """(embeddings, voices) of whole utterances, as many of each voice as there are, at most `limit` in all."""
    corpus = Corpus(folder)
    order = np.random.default_rng(seed).permutation(len(corpus))[:limit]
    rows = []
    for n in order:
        audio = torch.from_numpy(corpus.utterance(int(n), 16)).to(device)
        rows.append(net(speaker.features(audio[None], filters))[0])
    return torch.stack(rows).cpu().numpy(), [corpus.voice[n] for n in order]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--held-seen", required=True, help="other sentences of the voices of --corpus")
    parser.add_argument("--held-unseen", required=True, help="voices that --corpus does not have")
    parser.add_argument("--out", required=True)
    parser.add_argument("--max-seconds", type=float, default=120)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=2.5, help="of each part")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-seconds", type=float, default=90)
    parser.add_argument("--trials", type=int, default=1500, help="utterances of each evaluation, all pairs of them")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="a few small steps, to see that everything runs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    if a.smoke:
        a.max_seconds, a.batch, a.seconds, a.trials = 8, 8, 1.0, 16

    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    begin = time.monotonic()
    log = lambda text: print(f"[{time.monotonic() - begin:6.1f} s] {text}", flush=True)
    rows = Rows(a.corpus, device, a.seed)
    filters = speaker.mel_filters().to(device)
    net = speaker.Verifier().to(device)
    centres = torch.nn.Parameter(F.normalize(torch.randn(len(rows.voices), net.config.n_embd, device=device)))
    optimizer = torch.optim.AdamW([{"params": net.parameters(), "weight_decay": 0.02}, {"params": [centres], "weight_decay": 0.0}],
                                  lr=a.lr, betas=(0.9, 0.98))
    step, spent = 0, 0.0
    checkpoint = out / "checkpoint.pt"
    if a.resume and checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        centres.data.copy_(saved["centres"])
        step, spent = saved["step"], saved["spent"]
        rows.random.manual_seed(a.seed + step)

    def save():
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "centres": centres.data, "step": step,
                    "spent": spent + time.monotonic() - started}, out / "checkpoint.tmp")
        os.replace(out / "checkpoint.tmp", checkpoint)

    log(f"seed {a.seed}, {sum(x.numel() for x in net.parameters())} parameters, {len(rows.voices)} voices, "
        f"{len(rows.audio) / 16000 / 3600:.2f} h of speech on {device}")
    started = last_report = last_save = time.monotonic()
    total, right, n_total = 0.0, 0.0, 0
    while True:
        progress = (spent + time.monotonic() - started) / a.max_seconds
        if progress >= 1:
            break
        audio, voices = rows.take(a.batch, round(a.seconds * speaker.RATE))
        with torch.no_grad():
            x = speaker.features(rows.spoil(audio), filters)
        cosine = net(x) @ F.normalize(centres, dim=-1).T
        angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        margin = MARGIN * min(1.0, 4 * progress)                   # the easy task first
        own = F.one_hot(voices, len(rows.voices)).bool()
        logits = SCALE * torch.where(own, torch.cos((angle + margin).clamp(max=math.pi)), cosine)
        loss = F.cross_entropy(logits, voices)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = a.lr * min((step + 1) / 100, 1.0) * min(1.0, (1 - progress) / 0.5)
        optimizer.step()
        total, right, n_total = total + loss.detach(), right + (cosine.argmax(1) == voices).float().mean(), n_total + 1
        step += 1
        now = time.monotonic()
        if now - last_report > 5 or step == 1:
            log(f"step {step} loss {float(total) / n_total:.4f} right {float(right) / n_total:.3f} progress {progress:.3f}")
            last_report, total, right, n_total = now, 0.0, 0.0, 0
        if now - last_save > a.save_seconds:
            save()
            last_save = now
    save()

    # The threshold of the file comes from voices that training did not have, with the weights as rounded to f16.
    path = out / "speaker-verifier.gguf"
    speaker.write(path, net, 0.5)
    shipped = speaker.read(path)[0].to(device)
    result = {"steps": step, "seed": a.seed, "voices": len(rows.voices)}
    threshold = 0.5
    for name, folder in (("held_seen", a.held_seen), ("held_unseen", a.held_unseen)):
        embeddings, owners = embeddings_of(shipped, folder, device, filters, a.trials, a.seed)
        rate, threshold = speaker.equal_error_rate(embeddings, owners)
        result[name] = {"utterances": len(owners), "voices": len(set(owners)), "equal_error_rate": round(rate, 5),
                        "threshold": round(threshold, 4)}
        log(f"{name}: {result[name]}")
    speaker.write(path, shipped, threshold)
    result["bytes"] = path.stat().st_size
    (out / "scores.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    log(f"{step} steps; wrote {path}, {result['bytes']} bytes")
    log("done")


if __name__ == "__main__":
    main()
