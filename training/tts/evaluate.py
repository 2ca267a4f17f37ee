"""Scores of the speech model on held-out utterances, and codes of sample sentences.

    python3 evaluate.py --base base.gguf --corpus DIR --codes held.npy --out samples
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from data import ROW, Sampler, Speech
from maskgit import Options, Request, decode
from network_input import Batches
from prompt import expected_frames, text_weight
from speech_lm import CODEBOOK_WEIGHTS, N_CODEBOOK, PHONES, SpeechLm, masked_attention, same_document

AT_ONCE = 20            # requests decoded together


@torch.no_grad()
def accuracies(model, speech, device, n_rows=16):
    """Scores in presets' voices. "codes": percent of each codebook's codes that are likeliest when all coarser ones
    are known and all finer ones are not; for the first nothing is known but text and voice. "phones": the same of the
    phones then. "loss": as training has it, without errors in what is known."""
    sampler = Sampler(speech, 1, n_rows)
    rows = sampler.rng.permutation(speech.preset_rows)[:12 * n_rows]
    styles = [(speech.styles[speech.voice[row]] or speech.no_style)[0] for row in rows]
    documents = [sampler.document(row, -1, style, False, is_plain=True) for row, style in zip(rows, styles)]
    batch = sampler.batch([d for d in documents if d[1].sum() <= ROW])
    states = [np.arange(N_CODEBOOK) < k for k in range(N_CODEBOOK)] + [batch["known"].copy()]
    batch["block"][:, 0], batch["block"][:, 1] = 0, ROW           # all frames are at the same state
    inputs, right, out = Batches(speech, model.config, device), [], {}
    weights = torch.tensor(CODEBOOK_WEIGHTS, dtype=torch.float32, device=device)
    for k, state in enumerate(states):
        batch["known"][:] = state
        x = inputs.masked(batch, weights)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            last, middle = model.states(x.text, x.codes, x.is_text, x.pos, masked_attention(same_document(x.document)))
            targets = x.targets[:batch["n_targets"]]
            logits = model.logits(last.flatten(0, 1)[targets]).float()
            phones = model.phone_logits(middle.flatten(0, 1)[targets]).argmax(-1)
        labels = x.labels[:len(targets)]
        if k == N_CODEBOOK:
            losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
            slots = x.weights[:len(targets)].flatten()
            out["loss"] = round(float((losses * slots).sum() / slots.sum()), 3)
            continue
        right.append(round(100 * float((logits[:, k].argmax(-1) == labels[:, k]).float().mean()), 1))
        is_known = x.phones[:len(targets)] < PHONES
        if k == 0 and bool(is_known.any()):
            out["phones"] = round(100 * float((phones == x.phones[:len(targets)])[is_known].float().mean()), 1)
    return {"codes": right, **out}


def decode_all(model, requests, options=Options()):
    """Codes of every request, in their order; those of like length are decoded together."""
    codes = [None] * len(requests)
    order = sorted(range(len(requests)), key=lambda n: requests[n].n_frames)
    for first in range(0, len(order), AT_ONCE):
        some = order[first:first + AT_ONCE]
        for n, each in zip(some, decode(model, [requests[n] for n in some], options, seed=first)):
            codes[n] = each
    return codes


def agreement(model, speech, n, options=Options()):
    """Percent of the decoded codes of the first two codebooks that are those of the recording, in presets' voices."""
    rows = np.random.default_rng(2).permutation(speech.preset_rows)[:n]
    requests = [Request(speech.text[row], int(speech.n[row]), speech.instruct[speech.voice[row]]) for row in rows]
    same = [decoded[:2] == speech.codes[:2, speech.start[row]:speech.start[row] + speech.n[row]]
            for row, decoded in zip(rows, decode_all(model, requests, options))]
    return [round(100 * float(np.concatenate([s[k] for s in same]).mean()), 1) for k in range(2)]


def sample_requests(speech, n, seed=3):
    """[(request, description)]: n held-out texts in the presets' voices in turn, then a third as many cloned ones."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(speech.text))[:n + n // 3]
    out = []
    for number, row in enumerate(rows):
        text, frames = speech.text[row], int(speech.expected[row])
        if number < n:
            voice = speech.presets[number % len(speech.presets)]
            words = speech.instruct[voice] if number >= len(speech.presets) else ""
            request = Request(text, frames, words)
            about = {"voice": voice if words else speech.presets[0], "mode": "words" if words else "default"}
        else:
            voice = speech.voice[row]
            others = [rows[rows != row] for rows in (speech.short[voice], speech.utterances[voice])]
            others = others[0] if len(others[0]) else others[1]
            if not len(others):
                continue
            other = others[rng.integers(len(others))]
            reference = speech.codes[:, speech.start[other]:speech.start[other] + speech.n[other]]
            pace = text_weight(speech.written[other]) / reference.shape[1]
            request = Request(text, expected_frames(speech.written[row], text, pace), "", reference, speech.text[other])
            about = {"voice": str(voice), "mode": "reference"}
        out.append((request, {**about, "text": speech.written[row]}))
    return out


def write_samples(model, speech, folder, n, options=Options()):
    """FOLDER/NNN.npy: codes (8, frames) uint16; FOLDER/index.jsonl: {"file", "text", "voice", "mode"} a line."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pairs = sample_requests(speech, n)
    with open(folder / "index.jsonl", "w", encoding="utf-8") as index:
        decoded = decode_all(model, [request for request, _ in pairs], options)
        for number, ((_, about), codes) in enumerate(zip(pairs, decoded)):
            np.save(folder / f"{number:03}.npy", codes)
            index.write(json.dumps({"file": f"{number:03}.npy", **about}) + "\n")
    return f"{len(pairs)} in {folder}"


def main():
    import paths  # noqa: F401
    import base_file
    from corpus import Corpus
    from spoken_form import to_say
    from voice_words import attributes_and_presets
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--codes", required=True)
    parser.add_argument("--presets")
    parser.add_argument("--out", required=True)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in vars(Options()).items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    a = parser.parse_args()
    device = torch.device(a.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    config, weights = base_file.read(a.base)
    model = SpeechLm(config).to(device).eval()
    base_file.load_into(model, weights)
    speech = Speech([Corpus(a.corpus)], [np.load(a.codes)], to_say, *attributes_and_presets(a.presets))
    options = Options(**{name: getattr(a, name) for name in vars(Options())})
    print("accuracy", accuracies(model, speech, device, 64 if device.type == "cuda" else 1), flush=True)
    print("agreement", agreement(model, speech, a.samples, options))
    print("samples", write_samples(model, speech, a.out, a.samples, options))


if __name__ == "__main__":
    main()
