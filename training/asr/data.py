"""Batches for the recogniser: which utterances, how they are placed in a clip, and the tokens around and behind them.

What is planned on the CPU (numpy, in a thread) is computed on the device, which holds the corpus' samples.
"""

from dataclasses import dataclass
from functools import lru_cache
import queue
import threading

import numpy as np
import torch

import shared_path  # noqa: F401
from mel import RATE
from network import CTC_CHARACTERS, to_device
from spoken_form import spoken
from tokenizer import Tokenizer

MAX_PARTS = 4               # utterances of one clip
MAX_SECONDS = 24            # of a clip
FORCED, UNHEARD = "language English", "language None"
TAPS = 5                    # on each side, of the interpolation that changes the speed


def ctc_symbols(text):
    """Symbols of what is said: 1.. for the characters of CTC_CHARACTERS."""
    return [1 + CTC_CHARACTERS.index(character) for character in spoken(text) if character in CTC_CHARACTERS]


class Prompt:
    """Ids before and behind the audio, as src/asr/prompt.cpp makes them with an empty context."""

    def __init__(self, tokenizer):
        special, encode = tokenizer.special, tokenizer.encode
        self.tokenizer, self.tag, self.end = tokenizer, special["<asr_text>"], special["<|im_end|>"]
        self.encode = lru_cache(maxsize=200_000)(encode)
        self.pad, self.stops = special["<|audio_pad|>"], (special["<|endoftext|>"], special["<|im_end|>"])
        self.head = [special["<|im_start|>"], *encode("system\n"), special["<|im_end|>"], *encode("\n"),
                     special["<|im_start|>"], *encode("user\n"), special["<|audio_start|>"]]
        before_answer = [special["<|audio_end|>"], special["<|im_end|>"], *encode("\n"), special["<|im_start|>"]]
        self.tail = before_answer + encode("assistant\n")
        self.forced_tail = before_answer + encode("assistant\n" + FORCED) + [self.tag]
        self.heard, self.unheard = encode(FORCED) + [self.tag], encode(UNHEARD) + [self.tag]

    def answer(self, text, is_forced):
        """Ids that the model shall write; text None: nobody spoke."""
        if text is None:
            return self.unheard + [self.end]
        return ([] if is_forced else self.heard) + self.encode(text) + [self.end]

    def read(self, answer):
        """The transcript in an answer's ids, and whether it says that somebody spoke."""
        raw = self.tokenizer.decode(answer)
        language, tag, text = raw.partition("<asr_text>")
        return (text if tag else raw).strip(), "none" not in language.lower()


class SpeechSource:
    """A corpus whose 16 kHz samples lie on the device, with the tokens and symbols of its texts."""

    def __init__(self, corpus, device, limit=None):
        self.text = list(corpus.text[:limit])
        self.start, self.n = corpus.start16[:limit], corpus.n16[:limit]
        end = int((self.start + self.n).max())
        self.audio = torch.from_numpy(np.array(corpus.audio(16)[:end])).to(device)
        self.symbols = [ctc_symbols(text) for text in self.text]
        self.cuts = {}              # of cuts.py, once it has found them

    def __len__(self):
        return len(self.text)


@dataclass
class Clips:
    """A planned batch."""
    start: np.ndarray           # (batch, MAX_PARTS) where in the corpus
    n: np.ndarray               # the same: samples there
    at: np.ndarray              # the same: where in the clip
    speed: np.ndarray           # the same
    length: np.ndarray          # (batch,) samples of the clips
    text: list                  # None where nobody speaks
    symbols: list
    is_forced: list


def plan(source, rng, parts, is_speech=True, is_plain=False):
    """One clip of the utterances `parts`: (start, n, at, speed) of each, its length, its text and its symbols."""
    rows, texts, symbols, at = [], [], [], 0
    if not is_plain and rng.random() < 0.6:
        at = int(rng.integers(0, RATE // 2))
    for k, utterance in enumerate(parts):
        start, n, speed = int(source.start[utterance]), int(source.n[utterance]), 1.0
        if not is_plain:
            cut_front, cut_back = rng.integers(0, RATE // 10, 2)            # of the silence around it
            start, n = start + int(cut_front), n - int(cut_front) - int(cut_back)
            speed = float(rng.uniform(0.9, 1.12)) if rng.random() < 0.6 else 1.0
        rows.append((start, n, at, speed))
        at += int(n / speed)
        if k + 1 < len(parts) and not is_plain:
            at += int(rng.integers(0, RATE // 2))
        texts.append(source.text[utterance])
        symbols += ([1] if k else []) + source.symbols[utterance]
    if not is_plain and rng.random() < 0.5:
        at += int(rng.integers(0, RATE * 6 // 10))
    if not is_speech:
        return [], int(rng.integers(RATE // 3, RATE * 6)), None, []
    return rows, at, " ".join(texts), symbols


def plan_cut(source, rng, utterance):
    """A clip that ends within the sentence, as a stream hears it."""
    cut = source.cuts[utterance][rng.integers(len(source.cuts[utterance]))]
    start, speed = int(rng.integers(0, RATE // 10)), float(rng.uniform(0.9, 1.12))
    at = int(rng.integers(0, RATE // 2)) if rng.random() < 0.6 else 0
    n = min(int(source.n[utterance]), int(rng.integers(cut.earliest, cut.latest + 1))) - start
    return [(int(source.start[utterance]) + start, n, at, speed)], at + int(n / speed), cut.text, cut.symbols


def gather_clips(plans, is_forced):
    rows = np.zeros((len(plans), MAX_PARTS, 4))
    rows[..., 3] = 1
    for k, (parts, *_) in enumerate(plans):
        if parts:
            rows[k, :len(parts)] = parts
    whole = lambda x: np.ascontiguousarray(x.astype(np.int64))
    return Clips(whole(rows[..., 0]), whole(rows[..., 1]), whole(rows[..., 2]), rows[..., 3].astype(np.float32),
                 np.array([length for _, length, _, _ in plans], np.int64), [text for _, _, text, _ in plans],
                 [symbols for *_, symbols in plans], is_forced)


def rounded_up(n):
    """To quarters of a second, so that batches have few different shapes."""
    return -(-n // (RATE // 4)) * (RATE // 4)


def epoch(source, rng, seconds, silent_share=0.06, pair_share=0.10, long_share=0.02, forced_share=0.05,
          cut_share=0.2, is_plain=False):
    """Batches of about `seconds` of clips of similar lengths; every utterance comes once. Plain: alone and as it is."""
    if is_plain:
        silent_share = pair_share = long_share = forced_share = cut_share = 0
    order, plans, at = rng.permutation(len(source)), [], 0
    while at < len(order):
        draw = rng.random()
        n = 1 if draw >= pair_share + long_share else 2 if draw >= long_share else int(rng.integers(3, MAX_PARTS + 1))
        parts = order[at:at + n]
        while len(parts) > 1 and source.n[parts].sum() > (MAX_SECONDS - 4) * RATE:
            parts = parts[:-1]
        at += len(parts)
        plans.append(plan(source, rng, parts, is_plain=is_plain))
        if rng.random() < cut_share and int(parts[0]) in source.cuts:
            plans.append(plan_cut(source, rng, int(parts[0])))
        if rng.random() < silent_share:
            plans.append(plan(source, rng, [], is_speech=False))
    plans.sort(key=lambda p: p[1] * (1 + 0.1 * rng.random()))
    batches, current, longest = [], [], 0
    for one in plans:
        if current and rounded_up(max(longest, one[1])) * (len(current) + 1) > seconds * RATE:
            batches.append(current)
            current, longest = [], 0
        current.append(one)
        longest = max(longest, one[1])
    batches.append(current)
    for k in rng.permutation(len(batches)):
        forced = [p[2] is not None and rng.random() < forced_share for p in batches[k]]
        yield gather_clips(batches[k], forced)


def endless(source, seed, seconds, is_plain=False):
    """Epoch after epoch, planned ahead by a thread."""
    ready = queue.Queue(maxsize=300)     # more than an epoch takes to plan

    def work():
        rng = np.random.default_rng(seed)
        while True:
            for clips in epoch(source, rng, seconds, is_plain=is_plain):
                ready.put(clips)

    threading.Thread(target=work, daemon=True).start()
    while True:
        yield ready.get()


def interpolate(audio, at, end):
    """Samples of the int16 `audio` between its samples, by a windowed sinc; at: (batch, n) float64, end: (batch, 1)."""
    first = at.floor()
    fraction, first = (at - first).float(), first.long()
    out = torch.zeros_like(fraction)
    for tap in range(1 - TAPS, TAPS + 1):
        x = fraction - tap
        weight = torch.sinc(x) * torch.cos(x * (np.pi / (2 * TAPS + 2))).square()
        place = torch.minimum(first + tap, end).clamp(min=0)
        out += weight * audio[place].float()
    return out / 32768


def compose(source, clips, device):
    """-> (audio (batch, n) float32 without augmentation, zeros behind each clip; lengths (batch,) on the device)."""
    time = torch.arange(rounded_up(int(clips.length.max())), device=device)[None]
    is_plain = bool((clips.speed == 1).all())
    audio = torch.zeros(len(clips.length), time.shape[1], device=device)
    for k in range(MAX_PARTS):
        rows = np.flatnonzero(clips.n[:, k] > 0)
        if not len(rows):
            break
        start, n, at, speed = (to_device(x[rows, k], device)[:, None]
                               for x in (clips.start, clips.n, clips.at, clips.speed))
        offset = time - at
        if is_plain:
            inside = (offset >= 0) & (offset < n)
            part = source.audio[(start + offset).clamp(0, len(source.audio) - 1)].float() / 32768
        else:
            place = offset.double() * speed.double()
            inside = (offset >= 0) & (place < n - 1)
            part = interpolate(source.audio, (place + start).clamp(0, len(source.audio) - 1), start + n - 1)
        audio.index_add_(0, to_device(rows, device), part * inside)
    return audio, to_device(clips.length, device)


def sequences(prompt, clips, n_tokens, rng=None, noise=0.0):
    """The decoder's input for a batch: arrays ids (batch, n), places of audio rows, places whose next token is learned,
    and those tokens. Places count in the flat batch. With `noise`, that share of the inputs is wrong."""
    rows, heads = [], []
    for text, forced, n in zip(clips.text, clips.is_forced, n_tokens):
        head = prompt.head + [prompt.pad] * int(n) + (prompt.forced_tail if forced else prompt.tail)
        rows.append(head + prompt.answer(text, forced))
        heads.append(len(head))
    width = max(map(len, rows)) - 1
    width = -(-width // 8) * 8
    ids = np.full((len(rows), width), prompt.stops[0], np.int64)
    places, targets = [], []
    for k, (row, head) in enumerate(zip(rows, heads)):
        ids[k, :len(row) - 1] = row[:-1]
        places.append(np.arange(head - 1, len(row) - 1) + k * width)
        targets += row[head:]
        if noise and rng is not None:
            wrong = np.flatnonzero(rng.random(len(row) - 1 - head) < noise)
            ids[k, head + wrong] = rng.integers(0, prompt.stops[0], len(wrong))
    audio = np.concatenate([k * width + len(prompt.head) + np.arange(int(n)) for k, n in enumerate(n_tokens)])
    return ids, audio, np.concatenate(places), np.array(targets, np.int64)
