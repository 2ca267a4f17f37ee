"""Generates with the drafter and counts what it saves; the target decides every token, greedily.

    python3 speculate.py --target demo.gguf --drafter drafter.gguf --set eval.jsonl [--per-category 20] [--device cuda]

A step is one pass of the target over a block: of the drafted tokens the longest right beginning is kept, then the
target's own next token (correction, or bonus after a whole block). Tokens after the one that ends a reply are not
counted. The first token of a reply comes from the prompt's pass and belongs to no step.
"""

import argparse
import collections
import json
import time

import torch

import drafter_file
from drafter import attend_masked, target_states
from model import Cache

import evaluate
from tokenizer import Tokenizer

PREFILL = 512
LONGEST_REPLY = evaluate.LONGEST_REPLY


class Pair:
    """Target and drafter over one batch of sequences, each with its cache; rows may be at different positions."""

    def __init__(self, target, drafter, n_batch, n_ctx, device):
        self.target, self.drafter, self.device = target, drafter, device
        self.cache = Cache(target.config, n_batch, n_ctx, device)
        self.context = Cache(drafter.config.layers, n_batch, n_ctx, device)
        self.column = torch.arange(n_ctx, device=device)

    def extend(self, ids, positions):
        """The target's greedy next tokens (batch, n); their states go into the drafter's context."""
        mask = (self.column <= positions[..., None])[:, None]
        attend = lambda layer: lambda q, k, v: attend_masked(q, *self.cache.put(layer, positions, k, v), mask)
        features, final = target_states(self.target, ids, attend, self.drafter.config.target_layers, positions)
        for layer, (keys, values) in enumerate(self.drafter.context(features, positions)):
            self.context.put(layer, positions, keys, values)
        return self.target.logits(final).argmax(-1)

    def draft(self, token, start):
        """(batch, n_block - 1) tokens for the positions after `start`, where `token` (batch) stands."""
        config = self.drafter.config
        n_batch, n_block = len(token), config.n_block
        block = torch.full((n_batch, n_block), config.mask_token, device=self.device)
        block[:, 0] = token
        positions = start[:, None] + torch.arange(n_block, device=self.device)
        earlier = (self.column < start[:, None])[:, None, None].expand(-1, 1, n_block, -1)
        own = torch.ones(n_batch, 1, n_block, n_block, dtype=torch.bool, device=self.device)
        mask, x = torch.cat([earlier, own], dim=-1), self.target.token_embd(block)
        context = list(zip(self.context.keys, self.context.values))
        h = self.drafter.hidden(x, positions, context, lambda q, k, v: attend_masked(q, k, v, mask))
        return self.target.logits(h[:, 1:]).argmax(-1)


def prefill(pair, prompts, filler):
    """(first tokens of the replies, prompt lengths)."""
    lengths = torch.tensor([len(ids) for ids in prompts], device=pair.device)
    longest = int(lengths.max())
    ids = torch.full((len(prompts), longest), filler, device=pair.device)
    for row, prompt in enumerate(prompts):
        ids[row, :len(prompt)] = torch.tensor(prompt, device=pair.device)
    first = torch.zeros(len(prompts), dtype=torch.long, device=pair.device)
    for begin in range(0, longest, PREFILL):    # what lies past a short prompt is overwritten before it is seen
        piece = ids[:, begin:begin + PREFILL]
        positions = torch.arange(begin, begin + piece.shape[1], device=pair.device).expand(len(prompts), -1)
        said = pair.extend(piece, positions)
        last = lengths - 1 - begin
        here = said.gather(1, last.clamp(0, piece.shape[1] - 1)[:, None])[:, 0]
        first = torch.where((last >= 0) & (last < piece.shape[1]), here, first)
    return first, lengths


def generate(target, drafter, prompts, end_token, filler, device):
    """One {"ids", "steps": [(drafted tokens kept, tokens committed), ...]} a prompt, all in one batch."""
    n_block = drafter.config.n_block
    pair = Pair(target, drafter, len(prompts), max(map(len, prompts)) + LONGEST_REPLY + n_block, device)
    token, start = prefill(pair, prompts, filler)
    results = [{"ids": [first], "steps": []} for first in token.tolist()]
    running = [result["ids"][0] != end_token for result in results]
    offsets = torch.arange(n_block, device=device)
    while any(running):
        drafted = pair.draft(token, start)
        said = pair.extend(torch.cat([token[:, None], drafted], dim=1), start[:, None] + offsets)
        accepted = (drafted == said[:, :-1]).int().cumprod(1).sum(1)
        active = torch.tensor(running, device=device)
        for row, (n, tokens) in enumerate(zip(accepted.tolist(), said.tolist())):
            if not running[row]:
                continue
            result = results[row]
            committed = tokens[:n + 1]              # drafted tokens that were right are what the target says itself
            if end_token in committed:
                committed = committed[:committed.index(end_token) + 1]
            committed = committed[:LONGEST_REPLY - len(result["ids"])]
            result["steps"].append((min(n, len(committed)), len(committed)))
            result["ids"] += committed
            running[row] = committed[-1] != end_token and len(result["ids"]) < LONGEST_REPLY
        step = torch.where(active, accepted + 1, torch.zeros_like(accepted))
        token = torch.where(active, said.gather(1, accepted[:, None])[:, 0], token)
        start = start + step.to(start.dtype)
    return results


@torch.no_grad()
def measure(target, drafter, questions, device, batch_tokens=80_000):
    """(scores, replies): tokens a step over all questions and by category, and the replies' ids."""
    tokenizer = Tokenizer()
    prompts = [tokenizer.encode_prompt(question["messages"]) for question in questions]
    results, order = [None] * len(prompts), sorted(range(len(prompts)), key=lambda n: -len(prompts[n]))
    begin = time.monotonic()
    while order:
        count = max(1, batch_tokens // (len(prompts[order[0]]) + LONGEST_REPLY))
        batch, order = order[:count], order[count:]
        for n, result in zip(batch, generate(target, drafter, [prompts[n] for n in batch], tokenizer.im_end,
                                             tokenizer.end_of_text, device)):
            results[n] = result
        done = f"{len(prompts) - len(order)} of {len(prompts)} prompts"
        print(f"drafted for {done}, {time.monotonic() - begin:.1f} s", flush=True)
    by_category = collections.OrderedDict()
    for question, result in zip(questions, results):
        by_category.setdefault(question["category"], []).extend(result["steps"])
    everything = [step for steps in by_category.values() for step in steps]

    def summary(steps):
        n = max(1, len(steps))
        return {"tokens_per_step": sum(committed for _, committed in steps) / n,
                "drafted_tokens_kept_per_step": sum(kept for kept, _ in steps) / n, "steps": len(steps)}

    n_right = sum(evaluate.is_right(tokenizer.decode(result["ids"]), question["answers"])
                  for question, result in zip(questions, results))
    kept = collections.Counter(kept for kept, _ in everything)
    scores = {"block_size": drafter.config.n_block, **summary(everything), "questions": len(questions),
              "right": n_right,
              "steps_by_tokens_kept": {str(n): kept[n] for n in range(drafter.config.n_block)},
              "by_category": {category: summary(steps) for category, steps in by_category.items()}}
    return scores, [result["ids"] for result in results]


def compare_with_plain(target, questions, replies, device):
    """How many replies differ from those generated token by token (only rounding can make them differ)."""
    tokenizer = Tokenizer()
    prompts = [tokenizer.encode_prompt(question["messages"]) for question in questions]
    with torch.no_grad():
        plain = evaluate.greedy_replies(target, tokenizer, prompts, device)
    return sum(text != tokenizer.decode(ids) for text, ids in zip(plain, replies))


def print_scores(scores):
    row = lambda name, s: print(f"{name:14} {s['tokens_per_step']:6.3f} tokens a step, "
                                f"{s['drafted_tokens_kept_per_step']:6.3f} of them drafted, {s['steps']:6} steps")
    for category, s in scores["by_category"].items():
        row(category, s)
    row("all", scores)


def some_of_each(questions, per_category, longest_prompt=10**9):
    """The first questions of each category, prompts of more than longest_prompt tokens left out."""
    seen, chosen, tokenizer = collections.Counter(), [], Tokenizer()
    for question in questions:
        if len(tokenizer.encode_prompt(question["messages"])) > longest_prompt:
            continue
        seen[question["category"]] += 1
        if seen[question["category"]] <= per_category:
            chosen.append(question)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--drafter", required=True)
    parser.add_argument("--set", required=True)
    parser.add_argument("--per-category", type=int, default=10**9)
    parser.add_argument("--longest-prompt", type=int, default=10**9, help="leave out questions of more tokens")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", help="write the scores here as JSON")
    a = parser.parse_args()
    device = torch.device(a.device)
    target = evaluate.load_model(a.target, device)
    drafter = drafter_file.read(a.drafter, target.config).to(device).eval()
    questions = some_of_each(evaluate.read_questions(a.set), a.per_category, a.longest_prompt)
    scores, replies = measure(target, drafter, questions, device)
    scores["replies_unlike_plain_decoding"] = compare_with_plain(target, questions, replies, device)
    print_scores(scores)
    print(f"{scores['replies_unlike_plain_decoding']} of {len(questions)} replies differ from plain decoding")
    if a.out:
        with open(a.out, "w", encoding="utf-8") as file:
            json.dump(scores, file, indent=1)


if __name__ == "__main__":
    main()
