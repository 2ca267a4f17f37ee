"""What comes between a mouth and a recogniser, for a batch of clips on any device: rooms, bands, noises, levels.

Shapes: audio (batch, n) float32; lengths (batch,) samples. Every choice is drawn on the device except where `rng` is given.
"""

import math

import torch

from mel import RATE

ROOM = RATE // 4                # samples of an impulse response
KINDS = ("coloured", "gusts", "babble", "hum", "music", "clicks")


def uniform(n, low, high, device):
    return torch.rand(n, 1, device=device) * (high - low) + low


def rms(audio, exists):
    return ((audio.square() * exists).sum(1, keepdim=True) / exists.sum(1, keepdim=True).clamp(min=1)).sqrt()


def coloured(n, length, device, tilt):
    """Noise whose power falls with frequency to the power `tilt` (n, 1): 0 white, 1 pink, 2 brown."""
    spectrum = torch.fft.rfft(torch.randn(n, length, device=device))
    frequency = torch.arange(spectrum.shape[1], device=device).float()[None].clamp(min=max(1.0, 40 * length / RATE))
    return torch.fft.irfft(spectrum * frequency ** (-tilt / 2), n=length)


def gusts(n, length, device):
    """Coloured noise that comes and goes."""
    slow = torch.nn.functional.interpolate(torch.rand(n, 1, 2 + 3 * length // RATE, device=device), size=length, mode="linear")
    return coloured(n, length, device, uniform(n, 0.5, 2, device)) * slow[:, 0].square()


def hum(n, length, device):
    time = torch.arange(length, device=device)[None] / RATE
    base, out = uniform(n, 45, 400, device), torch.zeros(n, length, device=device)
    for harmonic in range(1, 9):
        phase = uniform(n, 0, 2 * math.pi, device)
        out += torch.rand(n, 1, device=device) / harmonic * torch.sin(2 * math.pi * base * harmonic * time + phase)
    return out


def music(n, length, device):
    """Three voices of plucked harmonic notes that change every eighth to half a second."""
    time, out = torch.arange(length, device=device)[None], torch.zeros(n, length, device=device)
    for _ in range(3):
        duration = uniform(n, RATE / 8, RATE / 2, device)
        note = (time / duration).long()
        pitch = torch.randint(0, 36, (n, 2 + 8 * length // RATE), device=device).gather(1, note).double()
        turns = (110 / RATE * 2 ** (pitch / 12)).cumsum(1).remainder(1).float()
        envelope = torch.exp(-(time / duration - note) * uniform(n, 0.5, 5, device))
        for harmonic in (1, 2, 3, 5):
            out += envelope * torch.sin(2 * math.pi * harmonic * turns) / harmonic
    return out


def clicks(n, length, device):
    """Short bursts, as of typing."""
    hits = (torch.rand(n, length, device=device) < uniform(n, 2, 12, device) / RATE).float() * torch.randn(n, length, device=device)
    ring = torch.exp(-torch.arange(400, device=device) / 60.0) * torch.randn(400, device=device)
    size = length + ROOM
    return torch.fft.irfft(torch.fft.rfft(hits, n=size) * torch.fft.rfft(ring, n=size), n=size)[:, :length]


class Corruption:
    def __init__(self, speech, device, share=0.6):
        """speech: the corpus' int16 samples on the device, for babble; share: of clips with loud noise."""
        self.speech, self.device, self.share = speech, device, share

    def babble(self, n, length):
        out, time = torch.zeros(n, length, device=self.device), torch.arange(length, device=self.device)[None]
        for _ in range(4):
            start = torch.randint(0, max(1, len(self.speech) - length), (n, 1), device=self.device)
            out += self.speech[(start + time).clamp(max=len(self.speech) - 1)].float() / 32768
        return out

    def noise(self, n, length, kind):
        if kind == "coloured":
            return coloured(n, length, self.device, uniform(n, 0, 2, self.device))
        if kind == "babble":
            return self.babble(n, length)
        return {"gusts": gusts, "hum": hum, "music": music, "clicks": clicks}[kind](n, length, self.device)

    def mixed_noise(self, n, length, kinds=KINDS):
        """(n, length): each row of one kind, chosen at random, with an RMS of one."""
        bounds = [n * k // len(kinds) for k in range(len(kinds) + 1)]
        rows = [self.noise(end - begin, length, kind) for kind, begin, end in zip(kinds, bounds, bounds[1:]) if end > begin]
        out = torch.cat(rows)[torch.randperm(n, device=self.device)]
        return out / out.square().mean(1, keepdim=True).sqrt().clamp(min=1e-6)

    def add_noise(self, audio, lengths, decibels, kinds=KINDS):
        """decibels: (batch, 1) signal above noise; the noise fills the whole clip."""
        exists = torch.arange(audio.shape[1], device=audio.device)[None] < lengths[:, None]
        level = rms(audio, exists) * 10 ** (-decibels / 20)
        return audio + self.mixed_noise(*audio.shape, kinds) * level * exists

    def filtered(self, audio):
        """Rooms for a quarter of the clips, narrow bands for another."""
        n, length = audio.shape
        device, size = self.device, length + ROOM
        decay = torch.arange(ROOM, device=device)[None] / (RATE * uniform(n, 0.1, 0.6, device)) * 6.9
        reverb = torch.randn(n, ROOM, device=device) * torch.exp(-decay)
        reverb[:, :40] = 0
        reverb = reverb / reverb.norm(dim=1, keepdim=True) * 10 ** (-uniform(n, 0, 18, device) / 20)
        reverb = reverb * (torch.rand(n, 1, device=device) < 0.25)
        reverb[:, 0] = 1
        response = torch.fft.rfft(reverb, n=size)
        hz = torch.arange(response.shape[1], device=device)[None] * (RATE / size)
        kind = torch.rand(n, 1, device=device)
        high = torch.where(kind < 0.12, uniform(n, 3200, 4000, device), uniform(n, 4000, 7900, device))
        low = torch.where(kind < 0.12, uniform(n, 200, 350, device), uniform(n, 20, 150, device))
        gain = 1 / (1 + (hz / high) ** 16) * (1 - 1 / (1 + (hz / low) ** 8))
        response = response * torch.where(kind < 0.3, gain, torch.ones_like(gain))
        return torch.fft.irfft(torch.fft.rfft(audio, n=size) * response, n=size)[:, :length]

    @torch.no_grad()
    def __call__(self, audio, lengths, silent):
        """silent: rows (a list) where nobody speaks: there noise alone, or hardly anything."""
        n, length = audio.shape
        device = audio.device
        exists = torch.arange(length, device=device)[None] < lengths[:, None]
        noisy = torch.rand(n, 1, device=device) < self.share
        decibels = torch.where(noisy, uniform(n, 0, 30, device), uniform(n, 35, 75, device))
        audio = self.add_noise(self.filtered(audio) * exists, lengths, decibels)
        audio = audio * 10 ** (-uniform(n, 1, 25, device) / 20) / audio.abs().amax(1, keepdim=True).clamp(min=1e-5)
        if silent:
            m = len(silent)
            alone = self.mixed_noise(m, length, tuple(kind for kind in KINDS if kind != "babble"))
            alone = alone * 10 ** (-uniform(m, 12, 85, device) / 20) * (torch.rand(m, 1, device=device) < 0.85)
            audio[torch.tensor(silent).to(device)] = alone.clamp(-1, 1)
        return audio * exists


def hide_parts(spectrum, n_times=2, n_bands=2):
    """SpecAugment: stretches of up to 80 ms and up to 14 of the bands become 0. spectrum: (batch, frames, band)."""
    n, frames, bands = spectrum.shape
    device, keep = spectrum.device, torch.ones_like(spectrum[..., 0])
    at, band = torch.arange(frames, device=device)[None], torch.arange(bands, device=device)[None]
    for _ in range(n_times):
        start = uniform(n, 0, frames, device)
        keep = keep * ~((at >= start) & (at < start + uniform(n, 0, 8, device)))
    shown = torch.ones(n, bands, device=device)
    for _ in range(n_bands):
        start = uniform(n, -7, bands, device)
        shown = shown * ~((band >= start) & (band < start + uniform(n, 0, 14, device)))
    return spectrum * keep[..., None] * shown[:, None]
