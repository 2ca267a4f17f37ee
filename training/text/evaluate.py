"""Scores the model on held-out questions, or writes those questions.

    python3 evaluate.py --build eval.jsonl
    python3 evaluate.py --model model.gguf --set eval.jsonl [--device cuda] [--replies replies.jsonl]

A reply is right if, white space collapsed, case folded and final punctuation dropped, it equals an accepted answer.
"""

import argparse
import collections
import json
import random
import time

from arithmetic import arithmetic_item
from calendar_time import dates_item, times_item
from chat import chat_item, memory_turns
from conversion import conversion_item
from dialogue import as_spoken, place_notes
from facts import facts_item
from item import HELD
from notes import Notebook
from tokenizer import Tokenizer
from words import instructions_item, lists_item, spelling_item
import world

SEED = 2025
SHORT_CATEGORIES = {     # generator, number of questions
    "facts": (facts_item, 200), "times": (times_item, 150), "dates": (dates_item, 100), "arithmetic": (arithmetic_item, 200),
    "conversion": (conversion_item, 100), "spelling": (spelling_item, 80), "lists": (lists_item, 60),
    "instructions": (instructions_item, 80), "chat": (chat_item, 80),
}
NOTE_CATEGORIES = {      # prompt length in tokens from, to; number of questions
    "notes-256": (200, 256, 100), "notes-1k": (900, 1024, 100), "notes-4k": (3800, 4000, 80),
}
SHARE_SPOKEN = 0.25         # questions as speech recognition would write them
SHARE_NOT_IN_NOTES = 0.1
LONGEST_REPLY = 64


def normalise(text):
    return " ".join(text.split()).casefold().rstrip(".!?,;: ")


def is_right(reply, answers):
    return normalise(reply) in {normalise(answer) for answer in answers}


def _short_questions(rng, category):
    generator, count = SHORT_CATEGORIES[category]
    seen = set()
    while len(seen) < count:
        messages = []
        if rng.random() < 0.25:
            messages.append({"role": "system", "content": rng.choice(world.SYSTEM_PROMPTS)})
        if category == "chat" and rng.random() < 0.15:
            tell, item = memory_turns(rng, HELD)
            messages += [{"role": "user", "content": tell.question}, {"role": "assistant", "content": tell.answers[0]}]
        else:
            item = generator(rng, HELD)
        question = as_spoken(item.question) if rng.random() < SHARE_SPOKEN else item.question
        if question in seen:
            continue
        seen.add(question)
        yield messages + [{"role": "user", "content": question}], item.answers


def _note_questions(rng, category, tokenizer):
    shortest, longest, count = NOTE_CATEGORIES[category]
    produced = 0
    while produced < count:
        book = Notebook(rng, HELD, rng.randint(int(shortest * 0.8), longest), lambda line: len(tokenizer.encode(line)) + 1)
        if rng.random() < SHARE_NOT_IN_NOTES:
            question, answers, _, _ = book.unanswerable_question()
        elif book.askable():
            # the evaluation asks at every depth: the n-th question takes a note near n / count of the text
            askable = book.askable()
            question, answers, _, _ = book.question(askable[min(len(askable) - 1, int(len(askable) * (produced + rng.random()) / count))])
        else:
            continue
        if rng.random() < SHARE_SPOKEN:
            question = as_spoken(question)
        messages = place_notes(rng, book.body(), [{"role": "user", "content": question}])
        if shortest <= len(tokenizer.encode_prompt(messages)) <= longest:
            produced += 1
            yield messages, answers


def build(path):
    tokenizer, lines = Tokenizer(), []
    for category in [*SHORT_CATEGORIES, *NOTE_CATEGORIES]:
        rng = random.Random(f"{SEED} {category}")
        questions = _short_questions(rng, category) if category in SHORT_CATEGORIES else _note_questions(rng, category, tokenizer)
        for n, (messages, answers) in enumerate(questions):
            unique = list(dict.fromkeys(map(str, answers)))
            lines.append(json.dumps({"id": f"{category}-{n:03d}", "category": category, "messages": messages, "answers": unique}))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{len(lines)} questions in {path}")


def load_model(path, device):
    import gguf_file
    from model import Model
    config, weights = gguf_file.read(path)
    model = Model(config)
    gguf_file.load_into(model, weights)
    return model.to(device).eval()


def greedy_replies(model, tokenizer, prompts, device, batch_tokens=80_000):
    """The most likely reply to each prompt (lists of ids), many at a time, longest prompts first."""
    import torch
    from model import Cache
    replies = [None] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda n: -len(prompts[n]))
    while order:
        longest = len(prompts[order[0]])
        batch, order = order[:max(1, batch_tokens // longest)], order[max(1, batch_tokens // longest):]
        lengths = torch.tensor([len(prompts[n]) for n in batch], device=device)
        n_ctx = min(model.config.n_ctx, longest + LONGEST_REPLY)
        ids = torch.full((len(batch), longest), tokenizer.end_of_text, device=device)
        for row, n in enumerate(batch):
            ids[row, :len(prompts[n])] = torch.tensor(prompts[n], device=device)
        cache, column = Cache(model.config, len(batch), n_ctx, device), torch.arange(n_ctx, device=device)
        token = None
        for begin in range(0, longest, 512):        # what lies past a short prompt is overwritten before anything looks at it
            piece = ids[:, begin:begin + 512]
            positions = torch.arange(begin, begin + piece.shape[1], device=device).expand(len(batch), -1)
            logits = model.extend(piece, positions, cache, (column <= positions[..., None])[:, None])
            last = (lengths - 1 - begin).clamp(0, piece.shape[1] - 1)
            here = logits[torch.arange(len(batch), device=device), last].argmax(-1)
            inside = (lengths - 1 >= begin) & (lengths - 1 < begin + piece.shape[1])
            token = here if token is None else torch.where(inside, here, token)
        produced = [token]
        positions = lengths[:, None].clone()
        for _ in range(n_ctx - longest - 1):
            if bool(torch.stack([step == tokenizer.im_end for step in produced]).any(0).all()):
                break
            logits = model.extend(token[:, None], positions, cache, (column <= positions[..., None])[:, None])
            token = logits[:, 0].argmax(-1)
            produced.append(token)
            positions = positions + 1
        for row, n in enumerate(batch):
            reply = [int(step[row]) for step in produced]
            replies[n] = tokenizer.decode(reply[:reply.index(tokenizer.im_end)] if tokenizer.im_end in reply else reply)
    return replies


def score(model, questions, device):
    """(table {category: (right, all)}, replies)."""
    import torch
    tokenizer = Tokenizer()
    with torch.no_grad():
        replies = greedy_replies(model, tokenizer, [tokenizer.encode_prompt(q["messages"]) for q in questions], device)
    table = collections.OrderedDict()
    for question, reply in zip(questions, replies):
        right, count = table.get(question["category"], (0, 0))
        table[question["category"]] = (right + is_right(reply, question["answers"]), count + 1)
    return table, replies


def print_table(table):
    for category, (right, count) in table.items():
        print(f"{category:14} {right:4} of {count:4}  {100 * right / count:6.1f} %")


def print_failures(questions, replies, per_category):
    shown = collections.Counter()
    for question, reply in zip(questions, replies):
        category = question["category"]
        if not is_right(reply, question["answers"]) and shown[category] < per_category:
            shown[category] += 1
            print(f"  [{question['id']}] ...{question['messages'][-1]['content'][-90:]!r}\n      said {reply!r}, wanted {question['answers'][0]!r}")


def read_questions(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", metavar="EVAL_JSONL")
    parser.add_argument("--model")
    parser.add_argument("--set", metavar="EVAL_JSONL")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--replies", help="write every reply here")
    parser.add_argument("--failures", type=int, default=5, help="how many wrong replies to print a category")
    parser.add_argument("--categories", help="only these, separated by commas")
    arguments = parser.parse_args()
    if arguments.build:
        return build(arguments.build)
    questions = read_questions(arguments.set)
    if arguments.categories:
        questions = [q for q in questions if q["category"] in arguments.categories.split(",")]
    begin = time.monotonic()
    table, replies = score(load_model(arguments.model, arguments.device), questions, arguments.device)
    print_table(table)
    print_failures(questions, replies, arguments.failures)
    print(f"{len(questions)} questions in {time.monotonic() - begin:.1f} s")
    if arguments.replies:
        with open(arguments.replies, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": q["id"], "reply": reply}) + "\n" for q, reply in zip(questions, replies))


if __name__ == "__main__":
    main()
