"""Trains a drafter for the demo text model on generated conversations and writes it as GGUF.

    python3 train.py --out run --max-seconds 240 [--resume]

Several sizes start side by side on the same states of the target; after --choose-at of the time the one that drafts
best goes on alone. OUT gets checkpoint.pt, drafter.gguf (Q8_0), scores.json and log.txt.
"""

import argparse
import json
import os
from pathlib import Path
import shutil
import time
import traceback

import torch

import drafter_file
from attention import Attention
from blocks import block_targets, choose_anchors, slot_accuracy, weighted_loss
from drafter import Drafter, DrafterConfig, count_parameters, target_states
import speculate

import evaluate
import gguf_file
from model import Config, Model
from optimizer import Muon
from shards import ShardStream
from tokenizer import Tokenizer

DEMO = Path(__file__).resolve().parents[2] / "models/demo/text"
ENDLESS = 1_000_000         # shards; the clock ends the run
NOTES_OF_ALL_LENGTHS = 0.3  # where in the text model's curriculum the data begins
ANSWER = 100                # the weight that marks the tokens of answers in the shards


def schedule(progress, step, warmup, decay):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


class Candidate:
    """One drafter in training with its optimizers and what it drafted of late."""

    def __init__(self, config, target, muon_lr, adam_lr, device):
        self.drafter = Drafter(config).to(device)
        with torch.no_grad():
            self.drafter.output_norm.weight.copy_(target.output_norm.weight)   # logits start at a sane scale
        parameters = list(self.drafter.parameters())
        self.muon = Muon([p for p in parameters if p.dim() == 2], muon_lr)
        norms = [p for p in parameters if p.dim() == 1]
        self.adam = torch.optim.AdamW(norms, lr=adam_lr, betas=(0.9, 0.95), weight_decay=0.0)
        self.adam_lr, self.recent = adam_lr, None
        c = config
        self.name = f"{c.n_layer} layers, n_ff {c.n_ff}, reads {','.join(map(str, c.target_layers))}"

    def step(self, scale):
        self.muon.step(scale)
        self.adam.param_groups[0]["lr"] = self.adam_lr * scale
        self.adam.step()
        for parameter in self.drafter.parameters():
            parameter.grad = None

    def note(self, tokens_per_step):
        self.recent = tokens_per_step if self.recent is None else self.recent * 0.98 + tokens_per_step * 0.02

    def state(self):
        return {"config": self.drafter.config, "weights": self.drafter.state_dict(), "adam": self.adam.state_dict(),
                "muon": [buffer for _, buffer in self.muon.groups], "recent": self.recent}

    def load(self, state):
        self.drafter.load_state_dict(state["weights"])
        self.adam.load_state_dict(state["adam"])
        for (_, buffer), saved in zip(self.muon.groups, state["muon"]):
            buffer.copy_(saved)
        self.recent = state["recent"]


def rows(stream, n_rows, row_length, device):
    """(tokens, is_answer) of n_rows rows on the device, again and again."""
    for tokens, weights in stream:
        whole = torch.from_numpy(tokens.astype("int64")).to(device), torch.from_numpy(weights == ANSWER).to(device)
        for begin in range(0, tokens.shape[0] - n_rows + 1, n_rows):
            yield tuple(x[begin:begin + n_rows, :row_length] for x in whole)


def parse_candidate(text, target, n_block, mask_token):
    """layers:n_ff:ids, as in 2:256:1,3."""
    n_layer, n_ff, ids = text.split(":")
    return DrafterConfig(target, n_layer=int(n_layer), n_ff=int(n_ff), n_block=n_block, mask_token=mask_token,
                         target_layers=tuple(map(int, ids.split(","))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--target", default=str(DEMO / "parlance-demo-text-q8_0.gguf"))
    parser.add_argument("--eval", default=str(DEMO.parents[1] / "demo-eval" / "text.jsonl"))
    parser.add_argument("--per-category", type=int, default=10**9, help="questions of each category to measure with")
    parser.add_argument("--longest-prompt", type=int, default=10**9, help="leave out questions of more tokens")
    parser.add_argument("--candidates", nargs="+", metavar="LAYERS:N_FF:IDS",
                        default=["2:288:1,3", "2:288:2,4", "2:192:1,3,5"])
    parser.add_argument("--choose-at", type=float, default=0.3, help="share of the time until one remains")
    parser.add_argument("--max-seconds", type=float, default=240)
    parser.add_argument("--block", type=int, default=8)
    parser.add_argument("--rows", type=int, default=8, help="rows a step")
    parser.add_argument("--row-length", type=int, default=4096, help="of each row, for small trials")
    parser.add_argument("--anchors", type=int, default=512, help="blocks of each row")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=0.003)
    parser.add_argument("--warmup", type=int, default=50, help="steps")
    parser.add_argument("--decay", type=float, default=0.4, help="share of the time in which the learning rate falls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dense", action="store_true", help="masks instead of flex attention")
    parser.add_argument("--resume", action="store_true")
    a = parser.parse_args()

    out, device = Path(a.out), torch.device(a.device)
    out.mkdir(parents=True, exist_ok=True)
    log_file = open(out / "log.txt", "a", encoding="utf-8")

    def log(text):
        print(text, flush=True)
        log_file.write(text + "\n")
        log_file.flush()

    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    tokenizer = Tokenizer()
    config, weights = gguf_file.read(a.target)
    target = Model(config)
    gguf_file.load_into(target, weights)
    target.to(device).eval().requires_grad_(False)
    mask_token = tokenizer.special["<|reserved_0|>"]
    candidates = [Candidate(parse_candidate(text, config, a.block, mask_token), target, a.muon_lr, a.adam_lr, device)
                  for text in a.candidates]
    step, spent, since = 0, 0.0, time.monotonic()
    checkpoint = out / "checkpoint.pt"
    if a.resume and checkpoint.exists():
        anything = {"weights_only": False} if torch.__version__ >= "2" else {}
        saved = torch.load(checkpoint, map_location=device, **anything)
        candidates = [Candidate(state["config"], target, a.muon_lr, a.adam_lr, device) for state in saved["candidates"]]
        for candidate, state in zip(candidates, saved["candidates"]):
            candidate.load(state)
        step, spent = saved["step"], saved["spent"]
    for candidate in candidates:
        log(f"candidate {candidate.name}: {count_parameters(candidate.drafter)} parameters")
    log(f"seed {a.seed}, step {step}, {spent:.0f} s spent, "
        f"{a.rows} rows of {a.row_length} tokens and {a.anchors} blocks on {device}")

    def save():
        unfinished = checkpoint.with_suffix(".tmp")
        torch.save({"candidates": [c.state() for c in candidates], "step": step, "spent": elapsed()}, unfinished)
        unfinished.rename(checkpoint)

    def elapsed():
        return spent + time.monotonic() - since

    def learn(tokens, is_answer, attention):
        """One step of every candidate; the loss of each and what it would draft, still on the device."""
        ends = (tokens == tokenizer.end_of_text).int()
        documents = (ends.cumsum(1) - ends).int()       # <|endoftext|> is the last token of its own document
        anchors, valid = choose_anchors(is_answer, tokens == tokenizer.im_end, a.anchors)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            with torch.no_grad():
                read = sorted({n for c in candidates for n in c.drafter.config.target_layers})
                attend = attention.rows(documents)
                features, final = target_states(target, tokens, lambda layer: attend, read)
                with torch.autocast(device.type, enabled=False):    # in bfloat16 the best two are often equal
                    greedy = target.logits(final.float()).argmax(-1)
                labels, counts = block_targets(tokens, is_answer, greedy, anchors, valid, a.block)
                positions = anchors[..., None] + torch.arange(a.block, device=device)
                block = torch.full_like(positions, mask_token)
                block[..., 0] = tokens.gather(1, anchors)
                x = target.token_embd(block.flatten(1))
                every = torch.arange(tokens.shape[1], device=device).expand_as(tokens)
            attend, parts, report = attention.blocks(documents, anchors, a.block), features.chunk(len(read), dim=-1), []
            for candidate in candidates:
                drafter = candidate.drafter
                mine = torch.cat([parts[read.index(n)] for n in drafter.config.target_layers], dim=-1)
                h = drafter.hidden(x, positions.flatten(1), drafter.context(mine, every), attend)
                logits = target.logits(h.view(*positions.shape, -1)[:, :, 1:])
                loss = weighted_loss(logits, labels, counts)
                loss.backward()
                report.append((loss.detach(), slot_accuracy(logits.detach(), labels, counts)))
        return report

    attention = Attention(device, flex=not a.dense)
    stream = ShardStream(out / "shards", a.seed + step, ENDLESS, a.workers, NOTES_OF_ALL_LENGTHS, ahead=100)
    spoke, saved_at, first_step = -100.0, elapsed(), step
    for tokens, is_answer in rows(stream, a.rows, a.row_length, device):
        progress = elapsed() / a.max_seconds
        if progress >= 1:
            break
        if len(candidates) > 1 and progress >= a.choose_at and candidates[0].recent is not None:
            candidates.sort(key=lambda c: -c.recent)
            log("chosen: " + ";  ".join(f"{c.name}: {float(c.recent):.3f} tokens a step" for c in candidates))
            del candidates[1:]
        try:
            report = learn(tokens, is_answer, attention)
        except Exception:       # flex attention is the one part that a PyTorch version may refuse
            if not attention.flex or step > first_step:
                raise
            log(traceback.format_exc() + "flex attention failed, going on with dense masks")
            attention = Attention(device, flex=False)
            report = learn(tokens, is_answer, attention)
        scale = schedule(progress, step, a.warmup, a.decay)
        for candidate, (_, (tokens_per_step, _, _)) in zip(candidates, report):
            candidate.step(scale)
            candidate.note(tokens_per_step)
        step += 1
        if elapsed() - spoke >= 5 or step <= 3:
            spoke = elapsed()
            for candidate, (loss, (tokens_per_step, right, tries)) in zip(candidates, report):
                slots = " ".join(f"{100 * float(r) / max(1.0, float(t)):.0f}" for r, t in zip(right, tries))
                log(f"step {step} {spoke:.1f} s loss {float(loss):.3f} tokens a step {float(tokens_per_step):.2f} "
                    f"(slots {slots} %) {candidate.name}, rate {scale:.2f}, waited {stream.waited_s:.1f} s for data")
        if elapsed() - saved_at >= 90:
            save()
            saved_at = elapsed()
    stream.close()
    shutil.rmtree(out / "shards", ignore_errors=True)
    save()
    candidates.sort(key=lambda c: -float(c.recent or 0))
    path = out / "drafter.gguf"
    drafter_file.write(path, candidates[0].drafter)
    drafter_file.check(path, candidates[0].drafter.config)
    log(f"{candidates[0].name}: {path} of {path.stat().st_size} bytes after {step} steps, {elapsed():.0f} s")

    torch.set_float32_matmul_precision("highest")
    shipped = drafter_file.read(path, config).to(device).eval()
    questions = speculate.some_of_each(evaluate.read_questions(a.eval), a.per_category, a.longest_prompt)
    scores, replies = speculate.measure(target, shipped, questions, device)
    scores["replies_unlike_plain_decoding"] = speculate.compare_with_plain(target, questions, replies, device)
    scores.update(drafter=candidates[0].name, parameters=count_parameters(shipped), file_bytes=path.stat().st_size,
                  train_steps=step, seed=a.seed)
    (out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    speculate.print_scores(scores)
    log(f"{scores['tokens_per_step']:.3f} tokens a step, {scores['drafted_tokens_kept_per_step']:.3f} of them drafted; "
        f"{scores['replies_unlike_plain_decoding']} of {len(questions)} replies differ from plain decoding; "
        f"{elapsed():.0f} s in all")


if __name__ == "__main__":
    main()
