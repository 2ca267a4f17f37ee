"""Random crops of corpora that lie on the device as int16, with the phones that are said in them."""

from pathlib import Path
import sys

import numpy as np
import torch

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
from corpus import SAMPLES_PER_FRAME_24K, Corpus

PHONE_HOP, UNKNOWN = 240, 255       # samples of a phone's label; where none is known
RMS, LARGEST = 0.1, 0.98            # what the program makes of references, and ../tts/codes.py of the speech to learn


def phones_of(corpus):
    """(10 ms places of the whole audio,) uint8, unknown where the corpus has none."""
    if hasattr(corpus, "phones"):
        try:
            return np.array(corpus.phones())
        except OSError:
            pass
    return np.full(len(corpus.audio(24)) // PHONE_HOP, UNKNOWN, np.uint8)


def levels_of(samples, start, n):
    """Root mean square of every utterance, in 0..1; they begin and last whole frames."""
    frame, parts = SAMPLES_PER_FRAME_24K, samples[:len(samples) // SAMPLES_PER_FRAME_24K * SAMPLES_PER_FRAME_24K]
    energy = torch.cat([x.float().square().sum(1) for x in parts.view(-1, frame).split(50_000)]).double()
    until = torch.cat([energy.new_zeros(1), energy.cumsum(0)])
    return ((until[(start + n) // frame] - until[start // frame]) / n).sqrt().float() / 32768


class Crops:
    def __init__(self, folders, device, seed, weights=None):
        """weights: how often each folder's sound is drawn, of the sum of all."""
        corpora = [Corpus(folder) for folder in folders]
        weights = weights or [corpus.hours() for corpus in corpora]
        audio, phones, start, share, at = [], [], [], [], 0
        self.folder = torch.from_numpy(np.repeat(np.arange(len(corpora)), [len(corpus.n24) for corpus in corpora])).to(device)
        for corpus, weight in zip(corpora, weights):
            sound, labels = np.array(corpus.audio(24)), phones_of(corpus)
            audio.append(sound)
            phones.append(np.resize(labels, len(sound) // PHONE_HOP))
            start.append(corpus.start24 + at)
            share.append(weight / sum(weights) * corpus.n24 / corpus.n24.sum())
            at += len(sound)
        put = lambda parts: torch.from_numpy(np.concatenate(parts)).to(device)
        self.samples, self.phones, self.start = put(audio), put(phones), put(start)
        self.n = put([corpus.n24 for corpus in corpora])
        self.level = levels_of(self.samples, self.start, self.n).clamp_min(1e-4)
        self.ends = put(share).double().cumsum(0)
        self.device, self.hours = device, sum(corpus.hours() for corpus in corpora)
        self.has_phones = bool((self.phones != UNKNOWN).any())
        self.generator = torch.Generator(device=device).manual_seed(seed)

    def draw(self, n_crops, n_samples):
        """(n_crops, n_samples) float32, (n_crops, n_samples / 240) phones, and (n_crops,) which of the folders each is from: cuts
        at any sample, with up to a quarter of silence, half of them within 2 dB of the usual level, the others within 8."""
        random = lambda *size: torch.rand(*size, device=self.device, generator=self.generator)
        pick = torch.searchsorted(self.ends, random(n_crops).double() * self.ends[-1]).clamp_max(len(self.n) - 1)
        room = (self.n[pick] - n_samples // 2).clamp_min(n_samples // 4)
        first = (random(n_crops).double() * room).long() - n_samples // 4
        at = first[:, None] + torch.arange(n_samples, device=self.device)
        is_inside = (at >= 0) & (at < self.n[pick][:, None])
        index = (self.start[pick][:, None] + at).clamp(0, len(self.samples) - 1)
        sound = self.samples[index].float() / 32768 * is_inside
        middle = slice(PHONE_HOP // 2, None, PHONE_HOP)
        phones = self.phones[(index[:, middle] // PHONE_HOP).clamp_max(len(self.phones) - 1)].long()
        phones = phones * is_inside[:, middle]
        decibels = (random(n_crops, 1) * 2 - 1) * torch.where(random(n_crops, 1) < 0.5, 2.0, 8.0)
        gain = RMS / self.level[pick][:, None] * 10 ** (decibels / 20)
        return sound * torch.minimum(gain, LARGEST / sound.abs().amax(1, keepdim=True).clamp_min(1e-3)), phones, self.folder[pick]
