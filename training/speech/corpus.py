"""Reads a corpus that generate.py wrote: raw sound files, a track of phones and one line of JSON an utterance."""

import json
from pathlib import Path

import numpy as np

SAMPLES_PER_FRAME_24K = 960   # 40 ms: every utterance is a whole number of these
AUDIO_24K, AUDIO_16K, INDEX = "audio_24k.s16", "audio_16k.s16", "index.jsonl"
PHONES, PHONE_NAMES = "phones.u8", "phones.json"


class Corpus:
    """.text, .voice, .pace: one entry an utterance; .start24, .n24, .start16, .n16: its place, in samples (int64).

    A corpus may have been made at one of the rates only; its places at the other rate still hold.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        with open(self.folder / INDEX, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.text = [row["text"] for row in rows]
        self.voice = [row["voice"] for row in rows]
        self.pace = np.array([row["pace"] for row in rows], np.float32)
        for name in ("start24", "n24", "start16", "n16"):
            setattr(self, name, np.array([row[name] for row in rows], np.int64))

    def __len__(self):
        return len(self.text)

    def hours(self) -> float:
        return float(self.n24.sum()) / 24000 / 3600

    def audio(self, kilohertz: int) -> np.memmap:
        """All utterances end to end, int16 (n_samples,), at 24 or 16 kHz."""
        name = {24: AUDIO_24K, 16: AUDIO_16K}[kilohertz]
        return np.memmap(self.folder / name, np.dtype("<i2"), "r")

    def phones(self) -> np.memmap:
        """uint8, one number for each 10 ms (240 samples at 24 kHz, 160 at 16) of the whole sound; see phones.py."""
        return np.memmap(self.folder / PHONES, np.uint8, "r")

    def phone_names(self) -> list:
        return json.loads((self.folder / PHONE_NAMES).read_text(encoding="utf-8"))

    def utterance(self, n: int, kilohertz: int) -> np.ndarray:
        """One utterance as float32 in -1..1."""
        start, count = (self.start24, self.n24) if kilohertz == 24 else (self.start16, self.n16)
        return np.asarray(self.audio(kilohertz)[start[n]:start[n] + count[n]], np.float32) / 32768
