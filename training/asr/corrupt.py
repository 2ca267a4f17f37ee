"""What comes between a mouth and a recogniser, for a batch of clips: rooms, microphones, telephones, noises, levels.

Shapes: audio (batch, n) float32; lengths (batch,) samples; silence follows a clip's end.
"""

import math
import random

import torch
import torch.nn.functional as F

import shared_path  # noqa: F401
import augment
from augment import SEEN_NOISES, UNSEEN_NOISES
from mel import N_MEL, RATE

KINDS_AT_ONCE = 4           # of noise, in a batch
BABBLE_SAMPLES = 1 << 24    # of the corpus, from which one batch's babble is made: float32 counts exactly up to here
TRAINED_NOISES = SEEN_NOISES + ("gliding",)
GLIDING = slice(0, 4)       # of every 16 clips of silence, these hold gliding tones


def not_voices(kinds):
    return tuple(kind for kind in kinds if kind != "babble")


def gliding(noise, n, length):
    """Harmonic tones whose pitch moves, on and off: what is most like a voice without being one."""
    log_hz = noise.uniform(n, 1, low=math.log(80.0), high=math.log(1800.0))
    rate = torch.exp(noise.uniform(n, 1, low=math.log(0.1), high=math.log(7.0)))
    swing = torch.sin(2 * math.pi * (rate * noise.time(length) + noise.uniform(n, 1)))
    straight = torch.where(noise.uniform(n, 1) < 0.5, swing, torch.asin(swing) * (2 / math.pi))
    depth = noise.uniform(n, 1, low=0, high=0.7) * (noise.uniform(n, 1) < 0.85)
    phase = torch.cumsum(torch.exp(log_hz + depth * straight), 1) * (2 * math.pi / RATE)
    fall, x = noise.uniform(n, 1, low=0.5, high=3.0), torch.zeros(n, length, device=noise.device)
    for k in range(1, 9):
        x += noise.uniform(n, 1) * torch.sin(k * phase) / k ** fall
    gate = torch.where(noise.uniform(n, 1) < 0.4, noise._gate(n, length, 0.05, 1.5), torch.ones_like(x))
    hiss = 10 ** noise.uniform(n, 1, low=-3, high=-0.7)
    return x * gate + hiss * noise.normal(n, length)


class Corruption:
    def __init__(self, speech, device, seed):
        """speech: the corpus' int16 samples on the device, for babble."""
        self.noise = augment.Noise(RATE, torch.Generator(device=device).manual_seed(seed), None)
        self.speech = speech
        self.random, self.uniform, self.device = random.Random(seed), self.noise.uniform, torch.device(device)

    def mixed_noise(self, n, length, kinds):
        """(n, length): each row of one of a few kinds, in any order, with an RMS of one."""
        kinds = self.random.sample(kinds, min(len(kinds), KINDS_AT_ONCE, n))
        begin = self.random.randrange(max(1, len(self.speech) - BABBLE_SAMPLES))
        self.noise.speech = self.speech[begin:begin + BABBLE_SAMPLES]
        bounds = [n * k // len(kinds) for k in range(len(kinds) + 1)]
        rows = [self.draw(kind, end - begin, length) for kind, begin, end in zip(kinds, bounds, bounds[1:])]
        return torch.cat(rows)[torch.randperm(n, generator=self.noise.generator, device=self.device)]

    def draw(self, kind, n, length):
        if kind != "gliding":
            return self.noise.draw(kind, n, length)
        x = gliding(self.noise, n, length)
        return x / (x.square().mean(1, keepdim=True).sqrt() + 1e-8)

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

    def trained_silence(self, n, length):
        """The same with more variety: two kinds at once, colours, and many gliding tones."""
        whole = -(-n // 16) * 16                # few different shapes
        x = self.mixed_noise(whole, length, not_voices(TRAINED_NOISES))
        second = self.mixed_noise(whole, length, not_voices(TRAINED_NOISES))
        x = x + second * 10 ** (-self.uniform(whole, 1, low=0, high=40) / 20)
        x.view(-1, 16, length)[:, GLIDING] = gliding(self.noise, whole // 4, length).view(-1, 4, length)
        x = augment.coloured(x, self.noise, strength_db=16.0)
        level = 10 ** (-self.uniform(whole, 1, low=8, high=85) / 20) * (self.uniform(whole, 1) < 0.9)
        x = x / (x.square().mean(1, keepdim=True).sqrt() + 1e-8) * level
        return x[torch.randperm(whole, generator=self.noise.generator, device=self.device)[:n]].clamp(-1, 1)

    def changed(self, audio, share, change):
        """A share of the clips, whose number depends on the batch's size alone, is replaced by change(clips)."""
        n = max(1, round(len(audio) * share))
        rows = torch.randperm(len(audio), generator=self.noise.generator, device=self.device)[:n]
        return audio.index_copy(0, rows, change(audio[rows]))

    @torch.no_grad()
    def __call__(self, audio, lengths, silent):
        """silent: rows (a list) where nobody speaks: there noise alone, or hardly anything."""
        n, length = audio.shape
        audio = self.changed(audio, 0.3, lambda x: augment.convolve(x, augment.rooms(self.noise, len(x))))
        noisy = self.uniform(n) < 0.6
        decibels = torch.where(noisy, self.uniform(n, low=0, high=30), self.uniform(n, low=35, high=75))
        audio = self.add_noise(audio, lengths, decibels, TRAINED_NOISES)
        audio = self.changed(audio, 0.6, lambda x: augment.coloured(x, self.noise, strength_db=9.0))
        audio = self.changed(audio, 0.08, lambda x: augment.telephone(x, RATE))
        peak = audio.abs().amax(1, keepdim=True).clamp(min=1e-5)
        audio = audio / peak * 10 ** (-self.uniform(n, 1, low=1, high=25) / 20)
        if silent:
            audio[torch.tensor(silent).to(self.device)] = self.trained_silence(len(silent), length)
        return audio * self.exists(audio, lengths)


def mel_places(hz):
    """Band (a real number) in which a frequency lies."""
    mel = torch.where(hz < 1000, hz * (3 / 200), 15 + torch.log(hz.clamp(min=1) / 1000) * (27 / math.log(6.4)))
    highest = 15 + math.log(RATE / 2 / 1000) * 27 / math.log(6.4)
    return mel * ((N_MEL + 1) / highest) - 1


def hz_of_bands(device):
    mel = torch.arange(1, N_MEL + 1, device=device) * ((15 + math.log(RATE / 2000) * 27 / math.log(6.4)) / (N_MEL + 1))
    return torch.where(mel < 15, mel * (200 / 3), 1000 * torch.exp((mel - 15) * (math.log(6.4) / 27)))


def uniform(like, *shape, low=0.0, high=1.0):
    return torch.rand(*shape, device=like.device) * (high - low) + low


def other_throats(spectrum, share=0.65, low=0.84, high=1.19, bend=0.06):
    """Formants moved without the pitch's pace: all frequencies times one factor a clip, and a little more or less of it from
    the lowest to the highest. (batch, frames, band)."""
    n, frames, bands = spectrum.shape
    hz = hz_of_bands(spectrum.device)
    bent = uniform(spectrum, n, 1, low=-bend, high=bend) * (2 * torch.linspace(0, 1, bands, device=spectrum.device) - 1)
    factor = torch.exp(uniform(spectrum, n, 1, low=math.log(low), high=math.log(high)) + bent)
    factor = torch.where(uniform(spectrum, n, 1) < share, factor, torch.ones_like(factor))
    place = mel_places(hz * factor).clamp(0, bands - 1)
    first = place.floor().clamp(max=bands - 2)
    index, fraction = first.long()[:, None].expand(n, frames, bands), (place - first)[:, None]
    return spectrum.gather(2, index) * (1 - fraction) + spectrum.gather(2, index + 1) * fraction


def other_rhythms(spectrum, n_frames, share=0.4, strength=0.3, knot=24):
    """Some sounds drawn out and others hurried: frames move by a smooth random map, the ends of the clips stay. spectrum:
    (batch, frames, band), n_frames: (batch,) of the clips."""
    n, frames, bands = spectrum.shape
    knots = torch.randn(n, 1, frames // knot + 2, device=spectrum.device) * strength
    pace = torch.exp(F.interpolate(knots, size=frames, mode="linear", align_corners=True)[:, 0])
    place = pace.cumsum(1) - pace[:, :1]
    last = (n_frames[:, None] - 1).clamp(1, frames - 1)
    place = place * (last / place.gather(1, last).clamp(min=1e-3))
    plain = torch.arange(frames, device=spectrum.device, dtype=place.dtype)
    place = torch.where(uniform(spectrum, n, 1) < share, place, plain).clamp(0, frames - 1)
    first = place.floor().clamp(max=max(frames - 2, 0))
    index, fraction = first.long()[..., None].expand(n, frames, bands), (place - first)[..., None]
    return spectrum.gather(1, index) * (1 - fraction) + spectrum.gather(1, (index + 1).clamp(max=frames - 1)) * fraction


def smoothed(spectrum, share=0.2, frames=3):
    """Transitions blurred over up to `frames` frames on each side, as statistical voices do. (batch, frames, band)."""
    n = len(spectrum)
    width = uniform(spectrum, n, 1, low=0.5, high=frames) * (uniform(spectrum, n, 1) < share)
    taps = torch.arange(-frames, frames + 1, device=spectrum.device)[None]
    weight = (1 - taps.abs() / (width + 1)).clamp(min=0)
    weight = weight / weight.sum(1, keepdim=True)
    padded = F.pad(spectrum.transpose(1, 2), (frames, frames), mode="replicate").transpose(1, 2)
    return sum(padded[:, k:k + spectrum.shape[1]] * weight[:, k, None, None] for k in range(2 * frames + 1))


def hide_parts(spectrum, n_times=3, n_bands=2, longest=10, widest=20):
    """SpecAugment: stretches of up to 100 ms and up to 20 of the bands become 0. spectrum: (batch, frames, band)."""
    n, frames, bands = spectrum.shape
    drawn = lambda low, high: uniform(spectrum, n, 1, low=low, high=high)
    at, band = (torch.arange(size, device=spectrum.device)[None] for size in (frames, bands))
    shown, heard = torch.ones_like(spectrum[:, 0]), torch.ones_like(spectrum[..., 0])
    for _ in range(n_times):
        start = drawn(0, frames)
        heard = heard * ~((at >= start) & (at < start + drawn(0, longest)))
    for _ in range(n_bands):
        start = drawn(-10, bands)
        shown = shown * ~((band >= start) & (band < start + drawn(0, widest)))
    return spectrum * heard[..., None] * shown[:, None]
