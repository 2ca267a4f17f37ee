"""What comes between a mouth and a recogniser, for a batch of clips: rooms, microphones, telephones, noises, levels.

Shapes: audio (batch, n) float32; lengths (batch,) samples; silence follows a clip's end.
"""

import random

import torch

import shared_path  # noqa: F401
import augment
from augment import SEEN_NOISES, UNSEEN_NOISES
from mel import RATE

KINDS_AT_ONCE = 4       # of noise, in a batch


def not_voices(kinds):
    return tuple(kind for kind in kinds if kind != "babble")


class Corruption:
    def __init__(self, speech, device, seed):
        """speech: the corpus' int16 samples on the device, for babble."""
        self.noise = augment.Noise(RATE, torch.Generator(device=device).manual_seed(seed), speech)
        self.random, self.uniform, self.device = random.Random(seed), self.noise.uniform, torch.device(device)

    def mixed_noise(self, n, length, kinds):
        """(n, length): each row of one of a few kinds, in any order, with an RMS of one."""
        kinds = self.random.sample(kinds, min(len(kinds), KINDS_AT_ONCE, n))
        bounds = [n * k // len(kinds) for k in range(len(kinds) + 1)]
        rows = [self.noise.draw(kind, end - begin, length) for kind, begin, end in zip(kinds, bounds, bounds[1:])]
        return torch.cat(rows)[torch.randperm(n, generator=self.noise.generator, device=self.device)]

    @torch.no_grad()
    def add_noise(self, audio, lengths, decibels, kinds):
        """decibels: (batch,) speech above noise; the noise fills the whole clip."""
        return augment.mix(audio, self.mixed_noise(*audio.shape, kinds), decibels, RATE) * self.exists(audio, lengths)

    @staticmethod
    def exists(audio, lengths):
        return torch.arange(audio.shape[1], device=audio.device)[None] < lengths[:, None]

    @torch.no_grad()
    def silence(self, n, length, kinds):
        """(n, length): clips in which nobody speaks, at any level; some hold nothing at all."""
        level = 10 ** (-self.uniform(n, 1, low=12, high=85) / 20) * (self.uniform(n, 1) < 0.85)
        return (self.mixed_noise(n, length, not_voices(kinds)) * level).clamp(-1, 1)

    @torch.no_grad()
    def __call__(self, audio, lengths, silent):
        """silent: rows (a list) where nobody speaks: there noise alone, or hardly anything."""
        n, length = audio.shape
        chosen = lambda share: self.uniform(n, 1) < share
        audio = torch.where(chosen(0.3), augment.convolve(audio, augment.rooms(self.noise, n)), audio)
        noisy = chosen(0.6)[:, 0]
        decibels = torch.where(noisy, self.uniform(n, low=0, high=30), self.uniform(n, low=35, high=75))
        audio = self.add_noise(audio, lengths, decibels, SEEN_NOISES)
        audio = torch.where(chosen(0.5), augment.coloured(audio, self.noise), audio)
        audio = torch.where(chosen(0.08), augment.telephone(audio, RATE), audio)
        peak = audio.abs().amax(1, keepdim=True).clamp(min=1e-5)
        audio = audio / peak * 10 ** (-self.uniform(n, 1, low=1, high=25) / 20)
        if silent:
            audio[torch.tensor(silent).to(self.device)] = self.silence(len(silent), length, SEEN_NOISES)
        return audio * self.exists(audio, lengths)


def hide_parts(spectrum, n_times=2, n_bands=2):
    """SpecAugment: stretches of up to 80 ms and up to 14 of the bands become 0. spectrum: (batch, frames, band)."""
    n, frames, bands = spectrum.shape
    uniform = lambda low, high: torch.rand(n, 1, device=spectrum.device) * (high - low) + low
    at, band = (torch.arange(size, device=spectrum.device)[None] for size in (frames, bands))
    shown, heard = torch.ones_like(spectrum[:, 0]), torch.ones_like(spectrum[..., 0])
    for _ in range(n_times):
        start = uniform(0, frames)
        heard = heard * ~((at >= start) & (at < start + uniform(0, 8)))
    for _ in range(n_bands):
        start = uniform(-7, bands)
        shown = shown * ~((band >= start) & (band < start + uniform(0, 14)))
    return spectrum * heard[..., None] * shown[:, None]
