"""Random crops of a corpus that lies on the device as int16."""

from pathlib import Path
import sys

import numpy as np
import torch

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
from corpus import Corpus


class Crops:
    def __init__(self, folder, device, seed):
        corpus = Corpus(folder)
        self.samples = torch.from_numpy(np.array(corpus.audio(24))).to(device)
        self.start, self.n = (torch.from_numpy(x).to(device) for x in (corpus.start24, corpus.n24))
        self.ends = self.n.cumsum(0)            # utterances are chosen by their lengths
        self.device, self.hours = device, corpus.hours()
        self.generator = torch.Generator(device=device).manual_seed(seed)

    def draw(self, n_crops, n_samples):
        """(n_crops, n_samples) float32: cuts at any sample, zeros behind an utterance's end, gains of -6 to +3 dB
        around the level that the corpus and prepared references have."""
        random = lambda *size: torch.rand(*size, device=self.device, generator=self.generator)
        pick = torch.searchsorted(self.ends, (random(n_crops).double() * self.ends[-1]).long(), right=True)
        slack = (self.n[pick] - n_samples * 3 // 4).clamp_min(1)
        first = (random(n_crops).double() * slack).long()
        at = first[:, None] + torch.arange(n_samples, device=self.device)
        index = (self.start[pick][:, None] + at).clamp_max(len(self.samples) - 1)
        sound = self.samples[index].float() / 32768 * (at < self.n[pick][:, None])
        gain = 10 ** ((random(n_crops, 1) * 9 - 6) / 20)
        return sound * torch.minimum(gain, 0.98 / sound.abs().amax(1, keepdim=True).clamp_min(1e-3))
