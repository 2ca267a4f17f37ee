"""Training data: rows of packed conversations, made by worker processes while the trainer reads.

A shard holds ROWS rows of ROW_LENGTH tokens. Shard n depends on the seed and on n alone, so that a run can be repeated.
Every document ends with <|endoftext|>; none crosses a row. weights[r, t] is what predicting tokens[r, t] counts, in
hundredths: answers count fully, questions a little (so that the model learns the language), notes hardly.
"""

import math
import multiprocessing
import os
from pathlib import Path
import random
import time

import numpy as np

from dialogue import conversation, note_conversation
from tokenizer import Tokenizer

ROW_LENGTH = 4096
ROWS = 128
SHARE_OF_NOTES = 0.45
ANSWER_WEIGHT, QUESTION_WEIGHT, NOTES_WEIGHT = 100, 8, 1
NOTE_LENGTHS = ((0.12, 280), (0.28, 1100), (1.0, 4000))     # (up to this share of the run, longest notes)
SHORTEST_NOTES = 24


def longest_notes(progress):
    return next(length for until, length in NOTE_LENGTHS if progress <= until)


class Packer:
    def __init__(self, tokenizer, rng, progress):
        self.tokenizer, self.rng = tokenizer, rng
        self.longest = longest_notes(progress)
        self.tokens = np.full((ROWS, ROW_LENGTH), tokenizer.end_of_text, np.uint16)
        self.weights = np.zeros((ROWS, ROW_LENGTH), np.uint8)
        self.n_notes = self.n_all = 0

    def count(self, line):
        return len(self.tokenizer.encode(line)) + 1

    def _document(self, messages, other_weight):
        ids, is_answer = self.tokenizer.encode_chat(messages)
        ids.append(self.tokenizer.end_of_text)
        weights = [ANSWER_WEIGHT if answer else other_weight for answer in is_answer] + [0]
        return ids, weights

    def _notes(self):
        rng = self.rng
        if rng.random() < 0.6:
            length = int(math.exp(rng.uniform(math.log(SHORTEST_NOTES), math.log(self.longest))))
        else:
            length = rng.randint(SHORTEST_NOTES, self.longest)
        messages = note_conversation(rng, length, self.count)
        ids, weights = self._document(messages, NOTES_WEIGHT)
        while len(ids) > ROW_LENGTH:
            messages = messages[:-2]
            if not any(message["role"] == "assistant" for message in messages):
                return self._notes()
            ids, weights = self._document(messages, NOTES_WEIGHT)
        return ids, weights

    def _conversation(self):
        return self._document(conversation(self.rng), QUESTION_WEIGHT)

    def _next_document(self):
        """Notes while they have less than their share of the tokens, else a conversation."""
        is_notes = self.n_notes <= SHARE_OF_NOTES * self.n_all
        document = self._notes() if is_notes else self._conversation()
        self.n_all += len(document[0])
        self.n_notes += len(document[0]) if is_notes else 0
        return document

    def fill(self):
        too_long = None                     # a document that waits for the next row
        for row in range(ROWS):
            used, misses = 0, 0
            while misses < 25:
                document, too_long = too_long or self._next_document(), None
                if used + len(document[0]) > ROW_LENGTH:
                    too_long = document
                    document = self._conversation()
                    misses += 1
                    if used + len(document[0]) > ROW_LENGTH:
                        continue
                ids, weights = document
                self.tokens[row, used:used + len(ids)] = ids
                self.weights[row, used:used + len(ids)] = weights
                used += len(ids)
        return self.tokens, self.weights


def make_shard(tokenizer, seed, n, progress):
    return Packer(tokenizer, random.Random(f"{seed} {n}"), progress).fill()


def shard_path(folder, n):
    return Path(folder) / f"shard-{n:06d}.npy"


def _work(folder, seed, worker, n_workers, n_shards, start_progress, ahead, next_shard):
    os.nice(5)
    tokenizer = Tokenizer()
    for n in range(worker, n_shards, n_workers):
        while n > next_shard.value + ahead:
            time.sleep(0.05)
        progress = start_progress + (1 - start_progress) * n / n_shards
        tokens, weights = make_shard(tokenizer, seed, n, progress)
        path = shard_path(folder, n)
        unfinished = path.with_suffix(".tmp")
        with open(unfinished, "wb") as file:
            np.save(file, np.concatenate([tokens, weights.astype(np.uint16)]))
        unfinished.rename(path)


class ShardStream:
    """Starts the workers and yields (tokens, weights) of shard 0, 1, 2, ..."""

    def __init__(self, folder, seed, n_shards, n_workers, start_progress=0.0, ahead=400):
        self.folder, self.n_shards = Path(folder), n_shards
        self.folder.mkdir(parents=True, exist_ok=True)
        for stale in self.folder.glob("shard-*"):
            stale.unlink()
        self.waited_s = 0.0
        context = multiprocessing.get_context("spawn")
        self.next_shard = context.Value("i", 0)
        self.workers = [context.Process(target=_work, daemon=True, args=(
            str(folder), seed, worker, n_workers, n_shards, start_progress, ahead, self.next_shard)) for worker in range(n_workers)]
        for process in self.workers:
            process.start()

    def __iter__(self):
        for n in range(self.n_shards):
            path, start = shard_path(self.folder, n), time.monotonic()
            while not path.exists():
                if not any(process.is_alive() for process in self.workers):
                    raise RuntimeError("all shard workers ended before their work was done")
                time.sleep(0.01)
            self.waited_s += time.monotonic() - start
            both = np.load(path)
            path.unlink()
            self.next_shard.value = n
            yield both[:ROWS], both[ROWS:].astype(np.uint8)

    def close(self):
        for process in self.workers:
            process.terminate()
