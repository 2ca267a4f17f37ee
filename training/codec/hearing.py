"""What the codec's ear must see through: noises, and throats that no voice of the corpus has."""

from pathlib import Path
import sys

import torch

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
import augment

ROWS_OF_A_KIND, SECONDS = 12, 8         # of noise that is made once
NOISY, SNR_DB = 0.6, (2.0, 30.0)        # share of the crops, and speech above noise in them
BENT, MOST_BENT = 0.4, 0.22             # share whose speed and pitch change, and by how much at most (logarithm)


class Hearing:
    def __init__(self, device, seed, rate_hz, speech=None):
        """speech: int16 samples of the corpus on the device, for babble."""
        self.generator = torch.Generator(device=device).manual_seed(seed)
        self.noise = augment.Noise(rate_hz, self.generator, speech)
        self.rate_hz, self.device = rate_hz, device
        self.bank = torch.cat([self.noise.draw(kind, ROWS_OF_A_KIND, SECONDS * rate_hz).half() for kind in augment.SEEN_NOISES])

    def random(self, *size):
        return torch.rand(*size, device=self.device, generator=self.generator)

    @torch.no_grad()
    def __call__(self, sound):
        """sound: (crops, samples) -> (what is to be understood, what is heard), both of that shape."""
        n_crops, n = sound.shape
        bend = torch.exp((self.random(n_crops) * 2 - 1) * MOST_BENT * (self.random(n_crops) < BENT))
        clean = augment.changed_speed(sound, bend)
        row = (self.random(n_crops) * len(self.bank)).long()
        first = (self.random(n_crops) * (self.bank.shape[1] - n)).long()
        noise = self.bank[row[:, None], first[:, None] + torch.arange(n, device=self.device)].float()
        decibels = SNR_DB[0] + (SNR_DB[1] - SNR_DB[0]) * self.random(n_crops)
        heard = augment.mix(clean, noise, decibels, self.rate_hz)
        heard = torch.where(self.random(n_crops, 1) < NOISY, heard, clean)
        return clean, heard / heard.abs().amax(1, keepdim=True).clamp_min(1.0)
