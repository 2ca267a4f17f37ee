"""Sounds and texts of the recogniser's batches: a corpus, the tokens around and behind the sound, sounds in clips.

What plan.py and feed.py plan on the CPU is computed here on the device, which holds the corpus' samples.
"""

from functools import lru_cache

import numpy as np
import torch

import shared_path  # noqa: F401
from network import CHUNK_FRAMES, CHUNK_TOKENS, CTC_CHARACTERS, CTC_PER_TOKEN, N_PHONES, to_device
import mel
from plan import MAX_PARTS, rounded_up
from spoken_form import spoken
from tokenizer import Tokenizer

FORCED, UNHEARD = "language English", "language None"
TAPS = 5                    # on each side, of the interpolation that changes the speed
NO_PHONE = 255              # in a corpus' track: not known
COPIED_AT_ONCE = 1 << 28    # samples


@lru_cache(maxsize=400_000)
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


class Texts:
    """What planning needs of a corpus: texts, places, symbols, and the phones if they are known."""

    def __init__(self, corpus, limit=None):
        self.text = list(corpus.text[:limit])
        self.start, self.n = corpus.start16[:limit], corpus.n16[:limit]
        self.cuts = {}              # of cuts.py, once it has found them
        has_phones = hasattr(corpus, "phones") and (corpus.folder / "phones.u8").exists()
        self.phones = corpus.phones() if has_phones else None

    def __len__(self):
        return len(self.text)

    def symbols_of(self, utterance):
        return ctc_symbols(self.text[utterance])


class SpeechSource(Texts):
    """A corpus whose 16 kHz samples lie on the device."""

    def __init__(self, corpus, device, limit=None):
        super().__init__(corpus, limit)
        end = int((self.start + self.n).max())
        samples, self.audio = corpus.audio(16), torch.empty(end, dtype=torch.int16, device=device)
        for begin in range(0, end, COPIED_AT_ONCE):
            part = np.array(samples[begin:min(begin + COPIED_AT_ONCE, end)])
            self.audio[begin:begin + len(part)] = torch.from_numpy(part).to(device)


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
    and those tokens. Places count in the flat batch.

    With `noise`, that share of the inputs is wrong; in some clips more than half, so that what was said last does not
    tell what comes next and the sound must, and in some none.
    """
    rows, heads = [], []
    for text, forced, n in zip(clips.text, clips.is_forced, n_tokens):
        head = prompt.head + [prompt.pad] * int(n) + (prompt.forced_tail if forced else prompt.tail)
        rows.append(head + prompt.answer(text, forced))
        heads.append(len(head))
    width = max(map(len, rows)) - 1
    width = -(-width // 16) * 16
    ids = np.full((len(rows), width), prompt.stops[0], np.int64)
    places, targets = [], []
    for k, (row, head) in enumerate(zip(rows, heads)):
        ids[k, :len(row) - 1] = row[:-1]
        places.append(np.arange(head - 1, len(row) - 1) + k * width)
        targets += row[head:]
        if noise and rng is not None:
            draw = rng.random()
            share = 0.0 if draw < 0.25 else noise if draw < 0.8 else 0.6
            wrong = np.flatnonzero(rng.random(len(row) - 1 - head) < share)
            ids[k, head + wrong] = rng.integers(0, prompt.stops[0], len(wrong))
    audio = np.concatenate([k * width + len(prompt.head) + np.arange(int(n)) for k, n in enumerate(n_tokens)])
    return ids, audio, np.concatenate(places), np.array(targets, np.int64)


def phone_labels(source, clips, layout):
    """(token, CTC_PER_TOKEN) uint8: the phone in the middle of each part of a token; silence (0) between utterances."""
    part = (np.arange(CTC_PER_TOKEN) + 0.5) / CTC_PER_TOKEN * 8
    chunk, token = np.divmod(layout.place_in_clip, CHUNK_TOKENS)
    time = (chunk[:, None] * CHUNK_FRAMES + token[:, None] * 8 + part) * mel.HOP            # samples of the clip
    labels = np.zeros(time.shape, np.uint8)
    for k in range(MAX_PARTS):
        columns = (clips.start, clips.n, clips.at, clips.speed)
        start, n, at, speed = (column[layout.clip_of_token, k][:, None] for column in columns)
        place = (time - at) * speed
        inside = (place >= 0) & (place < n)
        label = source.phones[np.where(inside, (place + start) // mel.HOP, 0).astype(np.int64)]
        labels = np.where(inside, np.where(label < N_PHONES, label, NO_PHONE), labels)
    return labels
