"""Scores of a codec on held-out speech, and sounds and pictures of some sentences.

    python3 score.py --checkpoint run/codec.gguf --held-seen DIR --held-unseen DIR --out run
"""

import argparse
import json
import math
from pathlib import Path
import wave

import numpy as np
import torch

from crops import LARGEST, RMS      # finds the corpus module, too
from corpus import Corpus
import gguf_file
import losses
from recogniser import Judge


def perplexity(counts):
    p = counts.double() / counts.double().sum().clamp_min(1e-9)
    return float(torch.exp(-(p * p.clamp_min(1e-12).log()).sum()))


def utterances(folder, n, device):
    """Up to n utterances, evenly spread over the corpus, at the usual level: (text, voice, sound (1, samples))."""
    corpus = Corpus(folder)
    for i in np.linspace(0, len(corpus) - 1, min(n, len(corpus))).astype(int):
        sound = corpus.utterance(i, 24)
        gain = min(RMS / max(float(np.sqrt(np.mean(sound ** 2))), 1e-4), LARGEST / max(float(np.abs(sound).max()), 1e-3))
        yield corpus.text[i], corpus.voice[i], torch.from_numpy(gain * sound).to(device)[None]


def si_sdr(made, real):
    """Scale-invariant ratio of signal to distortion in dB. A codec that makes up phases has a low one and may sound well."""
    made, real = made - made.mean(), real - real.mean()
    target = (made * real).sum() / real.square().sum().clamp_min(1e-9) * real
    return float(10 * torch.log10(target.square().sum() / (made - target).square().sum().clamp_min(1e-9) + 1e-9))


@torch.no_grad()
def score(codec, folder, n, device):
    """mel: sum over resolutions; mel_80: log10 difference of 80 bands; by levels: mel with the first ones only; same codes:
    share of codes that stay when the sound begins a second later or is 3 dB softer, by level; silence_db: what silence
    becomes."""
    mel, mel_80 = losses.MelLoss().to(device), losses.LogMel(1024, 80).to(device)
    hop, n_codebook = codec.config.hop, codec.config.n_codebook
    counts = torch.zeros(n_codebook, codec.config.n_codes, device=device)
    sums, by_levels, same = {"mel": 0.0, "mel_80": 0.0, "si_sdr": 0.0}, {2: 0.0, 4: 0.0}, {"later": [], "softer": []}
    n_scored = 0
    for _, _, real in utterances(folder, n, device):
        codes = codec.encode(real)
        made = codec.decode(codes)
        for k in range(n_codebook):
            counts[k] += torch.bincount(codes[0, k], minlength=codec.config.n_codes)
        sums["mel"] += float(mel(made, real))
        sums["mel_80"] += float((mel_80(made) - mel_80(real)).abs().mean())
        sums["si_sdr"] += si_sdr(made, real)
        for levels in by_levels:
            r = codec.quantizer.decode(codes[0].t(), levels)[None]
            by_levels[levels] += float(mel(codec.sound(r), real))
        same["softer"].append((codec.encode(real * 0.7) == codes).float().mean(2)[0])
        if codes.shape[2] > 45:
            later = codec.encode(real[:, 25 * hop:])
            same["later"].append((later == codes[:, :, 25:])[:, :, 3:].float().mean(2)[0])
        n_scored += 1
    silence = codec.decode(codec.encode(torch.zeros(1, 25 * hop, device=device)))
    return {"n": n_scored, "silence_db": round(20 * math.log10(float(silence.square().mean().sqrt()) + 1e-9), 1), **{name: value / n_scored for name, value in sums.items()},
            "mel_by_levels": {levels: value / n_scored for levels, value in by_levels.items()},
            "perplexity": [round(perplexity(row), 1) for row in counts],
            "same_codes": {name: [round(float(x), 3) for x in torch.stack(rows).mean(0)] for name, rows in same.items() if rows}}


@torch.no_grad()
def mel_distance(codec, folder, n, device):
    mel = losses.MelLoss().to(device)
    return float(torch.stack([mel(codec.decode(codec.encode(real)), real)
                              for _, _, real in utterances(folder, n, device)]).mean())


def quick(codec, held, device, n):
    torch.backends.cudnn.benchmark, before = False, torch.backends.cudnn.benchmark
    try:
        return {name: round(mel_distance(codec, folder, n, device), 3) for name, folder in held.items()}
    finally:
        torch.backends.cudnn.benchmark = before


def write_wave(path, sound, rate_hz=24000):
    samples = (sound.clamp(-1, 1) * 32767).round().short().cpu().numpy()
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate_hz, len(samples), "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())


@torch.no_grad()
def write_examples(out, codec, folder, name, device, n=4):
    """OUT/<name>-<i>-{original,codec}.wav and OUT/<name>.png: spectrograms, each original above its twin."""
    pairs = []
    for i, (_, _, real) in enumerate(utterances(folder, n, device)):
        pairs.append((real[0], codec.decode(codec.encode(real))[0]))
        for kind, sound in zip(("original", "codec"), pairs[-1]):
            write_wave(out / f"{name}-{i}-{kind}.wav", sound)
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    mel = losses.LogMel(1024, 80).to(device)
    figure, axes = plt.subplots(2 * len(pairs), 1, figsize=(12, 3 * len(pairs)), squeeze=False)
    for i, pair in enumerate(pairs):
        for j, sound in enumerate(pair):
            axes[2 * i + j, 0].imshow(mel(sound[None])[0].cpu().numpy(), origin="lower", aspect="auto", vmin=-3, vmax=1)
            axes[2 * i + j, 0].axis("off")
    figure.tight_layout(pad=0.2)
    figure.savefig(out / f"{name}.png", dpi=60)
    plt.close(figure)


@torch.no_grad()
def intelligibility(judge, codec, held, device, n, log):
    """Word error rates of the recogniser, in %: what it hears in originals and in what the codec makes of them."""
    rates = {}
    try:
        for name, folder in held.items():
            texts, _, sounds = zip(*utterances(folder, n, device))
            rate = lambda chosen: round(100 * judge.word_error_rate(texts, chosen)[0], 2)
            if (folder, n) not in judge.originals:
                judge.originals[folder, n] = rate([x[0] for x in sounds])
            rates[f"{name} original"] = judge.originals[folder, n]
            rates[f"{name} codec"] = rate([codec.decode(codec.encode(x))[0] for x in sounds])
    except Exception as error:      # training goes on without
        log(f"no word error rates: {error!r}")
    return rates


def write_scores(out, codec, held, device, log=print, n=24, judge=None, n_heard=150):
    scores = {}
    for name, folder in held.items():
        scores[name] = score(codec, folder, n, device)
        if judge:
            scores[name]["wer"] = intelligibility(judge, codec, {"of": folder}, device, n_heard, log)
        log(f"{name}: {json.dumps(scores[name])}")
        (out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
        try:
            write_examples(out, codec, folder, name, device)
        except Exception as error:      # a missing plotting library shall not cost the scores
            log(f"no examples of {name}: {error}")
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="checkpoint.pt or a GGUF file")
    parser.add_argument("--held-seen")
    parser.add_argument("--held-unseen")
    parser.add_argument("--recogniser", help="folder of the recogniser, for word error rates")
    parser.add_argument("--out", required=True)
    parser.add_argument("--n", type=int, default=24, help="utterances of each corpus")
    parser.add_argument("--n-heard", type=int, default=150, help="utterances of each corpus for word error rates")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    held = {name: folder for name, folder in (("held_seen", a.held_seen), ("held_unseen", a.held_unseen)) if folder}
    judge = Judge(a.recogniser, device) if a.recogniser else None
    write_scores(out, gguf_file.load(a.checkpoint, device), held, device, n=a.n, judge=judge, n_heard=a.n_heard)


if __name__ == "__main__":
    main()
