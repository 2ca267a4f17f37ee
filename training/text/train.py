"""Trains the demo text model on generated conversations and writes it as GGUF.

    python3 train.py --out run --steps 8000 --eval eval.jsonl

Every --save-every steps and at the end it writes OUT/model.gguf (Q8_0); OUT/log.txt holds the losses and scores.
"""

import argparse
import math
import os
from pathlib import Path
import queue
import threading
import time

import torch
import torch.nn.functional as F

import evaluate
import gguf_file
from model import Config, Model, attention_reference, count_parameters
from optimizer import Optimizer
from shards import ROW_LENGTH, ROWS, ShardStream
from tokenizer import Tokenizer


def schedule(progress, step, warmup, decay):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


def document_ids(tokens, end_of_text):
    """(batch, n) number of the document each token belongs to; <|endoftext|> is the last token of its own."""
    ends = (tokens == end_of_text).int()
    return (ends.cumsum(1) - ends).int()


class DocumentAttention:
    """attend(q, k, v) that stays inside each document of the packed rows."""

    def __init__(self, device):
        self.is_cuda = device.type == "cuda"
        if self.is_cuda:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            self.flex_attention, self.create_block_mask = flex_attention, torch.compile(create_block_mask)

    def mask(self, documents):
        n_batch, n = documents.shape
        if self.is_cuda:
            def visible(b, h, q, k):
                return (q >= k) & (documents[b, q] == documents[b, k])
            return self.create_block_mask(visible, n_batch, None, n, n, device=documents.device)
        causal = torch.ones(n, n, dtype=torch.bool, device=documents.device).tril()
        return (causal & (documents[:, :, None] == documents[:, None, :]))[:, None]

    def attend(self, mask):
        if self.is_cuda:
            return lambda q, k, v: self.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        return lambda q, k, v: attention_reference(q, k, v, mask)


def batches(stream, rows_per_step, device):
    """(tokens, weights) on the device, read ahead by a thread; shards are cut into steps of rows_per_step."""
    ready = queue.Queue(maxsize=8)

    def read():
        for tokens, weights in stream:
            for begin in range(0, ROWS, rows_per_step):
                part = slice(begin, begin + rows_per_step)
                pair = torch.from_numpy(tokens[part].astype("int32")), torch.from_numpy(weights[part].copy())
                ready.put(tuple(x.pin_memory() for x in pair) if device.type == "cuda" else pair)
        ready.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (pair := ready.get()) is not None:
        yield tuple(x.to(device, non_blocking=True) for x in pair)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--rows", type=int, default=32, help=f"rows of {ROW_LENGTH} tokens a step; divides {ROWS}")
    parser.add_argument("--micro-rows", type=int, default=32, help="rows that fit into memory at once; divides --rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=0.003)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--decay", type=float, default=0.35, help="share of the run in which the learning rate falls")
    parser.add_argument("--max-seconds", type=float, default=math.inf, help="end the schedule early rather than exceed this")
    parser.add_argument("--start-from", help="GGUF file whose weights to go on from")
    parser.add_argument("--start-progress", type=float, default=0.0, help="where in the curriculum to begin")
    parser.add_argument("--eval", help="score on these questions at each save")
    parser.add_argument("--save-every", type=int, default=2000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shards", help="folder for the shards (default OUT/shards)")
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
    n_shards = math.ceil(a.steps * a.rows / ROWS)
    stream = ShardStream(a.shards or out / "shards", a.seed, n_shards, a.workers, a.start_progress)
    tokenizer = Tokenizer()
    model = Model(Config()).to(device)
    if a.start_from:
        gguf_file.load_into(model, gguf_file.read(a.start_from)[1])
    log(f"{count_parameters(model)} parameters, {a.steps} steps of {a.rows * ROW_LENGTH} tokens on {device}")
    optimizer = Optimizer(model, a.muon_lr, a.adam_lr)
    attention = DocumentAttention(device)

    def loss_of(tokens, weights, mask):
        hidden = model.hidden(tokens, attention.attend(mask))
        targets = torch.cat([tokens[:, 1:], tokens[:, :1]], dim=1).long()
        counts = torch.cat([weights[:, 1:], torch.zeros_like(weights[:, :1])], dim=1).float() / 100
        losses = F.cross_entropy(model.logits(hidden).float().flatten(0, 1), targets.flatten(), reduction="none") * counts.flatten()
        is_answer = (counts.flatten() == 1).float()
        return losses.sum(), counts.sum(), (losses * is_answer).sum().detach(), is_answer.sum()

    if device.type == "cuda":
        loss_of = torch.compile(loss_of, dynamic=False)
    evaluation = evaluate.read_questions(a.eval) if a.eval else []

    def save(step):
        gguf_file.write(out / "unfinished.gguf", model.config, gguf_file.weights_of(model), "q8_0")
        (out / "unfinished.gguf").rename(out / "model.gguf")
        if evaluation:
            shipped = evaluate.load_model(out / "model.gguf", device)
            table, _ = evaluate.score(shipped, evaluation, device)
            log(f"step {step} scores: " + "  ".join(f"{name} {100 * right / count:.1f}" for name, (right, count) in table.items()))

    begin, answer_loss, answer_count = time.monotonic(), 0.0, 0.0
    for step, (tokens, weights) in enumerate(batches(stream, a.rows, device)):
        elapsed = time.monotonic() - begin
        progress = max(step / a.steps, elapsed / a.max_seconds)
        if progress >= 1:
            break
        total = weights[:, 1:].float().sum() / 100
        for first in range(0, a.rows, a.micro_rows):
            part = slice(first, first + a.micro_rows)
            mask = attention.mask(document_ids(tokens[part], tokenizer.end_of_text))
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                loss, _, answers, n_answers = loss_of(tokens[part], weights[part], mask)
            (loss / total).backward()
            answer_loss, answer_count = answer_loss + answers, answer_count + n_answers
        optimizer.step(schedule(progress, step, a.warmup, a.decay))
        if step % 50 == 0 or step < 3:
            seconds = time.monotonic() - begin
            log(f"step {step} answers {float(answer_loss / answer_count):.4f} {seconds:.1f} s, "
                f"{(step + 1) * a.rows * ROW_LENGTH / seconds / 1e3:.0f} k tokens/s, waited {stream.waited_s:.1f} s for data")
            answer_loss, answer_count = 0.0, 0.0
        if (step + 1) % a.save_every == 0:
            save(step + 1)
    stream.close()
    save("last")
    log(f"done after {time.monotonic() - begin:.0f} s")
    if device.type == "cuda":
        log(f"peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
