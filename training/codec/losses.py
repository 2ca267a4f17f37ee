"""How far re-synthesised sound is from the original: differences of log-mel spectrograms at several resolutions."""

import math

import torch
from torch import nn
import torch.nn.functional as F

WINDOWS = (2048, 1024, 512, 256, 128, 64, 32)
N_MELS = (320, 160, 80, 40, 20, 10, 5)


def mel_filters(n_mels, n_fft, rate_hz):
    """(n_mels, n_fft / 2 + 1): triangles evenly spaced in mel, each with unit sum where it has any bin."""
    to_mel = lambda f: 2595 * math.log10(1 + f / 700)
    mels = torch.linspace(to_mel(0), to_mel(rate_hz / 2), n_mels + 2, dtype=torch.float64)
    edges = 700 * (10 ** (mels / 2595) - 1)
    bins = torch.arange(n_fft // 2 + 1, dtype=torch.float64) * rate_hz / n_fft
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    filters = torch.minimum(rise, fall).clamp_min(0)
    return (filters / filters.sum(1, keepdim=True).clamp_min(1)).float()


class LogMel(nn.Module):
    """(batch, samples) -> (batch, n_mels, places), log10 of magnitudes above a floor, given as the amplitude of white noise
    (about -86 dB where nothing else is said)."""

    def __init__(self, window, n_mels, rate_hz=24000, hop=None, floor=5e-5):
        super().__init__()
        self.n_fft, self.hop, self.floor = window, hop or window // 4, 0.6 * floor * math.sqrt(window)
        self.register_buffer("window", torch.hann_window(window), persistent=False)
        self.register_buffer("filters", mel_filters(n_mels, window, rate_hz), persistent=False)

    def forward(self, sound):
        spectrum = torch.stft(sound, self.n_fft, self.hop, window=self.window, return_complex=True, pad_mode="reflect")
        power = spectrum.real.square() + spectrum.imag.square()
        return torch.log10(self.filters @ (power + 1e-12).sqrt() + self.floor)


class MelLoss(nn.Module):
    """Sum over the resolutions of the mean absolute difference, which is squared below `bend`.

    To learn from, the floor must be high and small differences must count little: the logarithm's slope is that of 1 / x,
    so that silence, though already right, would make up most of the gradient.
    """

    def __init__(self, floor=5e-5, bend=0.0):
        super().__init__()
        self.bend = bend
        self.scales = nn.ModuleList(LogMel(*sizes, floor=floor) for sizes in zip(WINDOWS, N_MELS))

    def forward(self, made, real):
        loss = 0
        for scale in self.scales:
            with torch.no_grad():
                target = scale(real)
            loss = loss + (F.smooth_l1_loss(scale(made), target, beta=self.bend) if self.bend else
                           F.l1_loss(scale(made), target))
        return loss


class ContentHead(nn.Module):
    """Log-mel of the sound from the first two levels' vectors alone, so that they carry what is said."""

    PLACES = 4      # of 10 ms in a frame

    def __init__(self, n_latent, n_mels=40):
        super().__init__()
        self.mel = LogMel(1024, n_mels, hop=240, floor=1e-3)
        self.head = nn.Linear(n_latent, self.PLACES * n_mels)

    def forward(self, z, sound):
        """z: (batch, frames, n_latent)."""
        with torch.no_grad():
            target = self.mel(sound)[..., :z.shape[1] * self.PLACES]
        made = self.head(z).unflatten(2, (self.PLACES, -1)).flatten(1, 2).transpose(1, 2)
        return F.l1_loss(made, target)


class PhoneHead(nn.Module):
    """Which phone is said at each of a frame's places, from the first level's vectors alone."""

    PLACES, UNKNOWN = 4, 255

    def __init__(self, n_latent, n_phones=64, n=128):
        super().__init__()
        self.n_phones = n_phones
        self.mix, self.head = nn.Conv1d(n_latent, n, 3, padding=1), nn.Linear(n, self.PLACES * n_phones)

    def forward(self, z, phones):
        """z: (batch, frames, n_latent); phones: (batch, frames * PLACES) -> (loss, share of places that are right)."""
        logits = self.head(F.relu(self.mix(z.transpose(1, 2))).transpose(1, 2)).view(*phones.shape, self.n_phones)
        is_known = phones != self.UNKNOWN
        phones = torch.where(is_known, phones, torch.zeros_like(phones))
        n_known = is_known.sum().clamp_min(1)
        loss = F.cross_entropy(logits.flatten(0, 1), phones.flatten(), reduction="none")
        right = (logits.argmax(2) == phones) & is_known
        return (loss * is_known.flatten()).sum() / n_known, right.sum() / n_known


def relative_error(got, wanted):
    """Squared difference as a share of the variance of what is wanted, which gets no gradient."""
    wanted = wanted.detach()
    return (got - wanted).square().mean() / (wanted - wanted.mean((0, 1), keepdim=True)).square().mean().clamp_min(1e-6)


def hinge_of_critics(real, made):
    """real, made: one score map of each discriminator."""
    return sum(F.relu(1 - r.float()).mean() + F.relu(1 + m.float()).mean() for r, m in zip(real, made))


def adversarial_loss(made):
    return -sum(m.float().mean() for m in made)


def feature_loss(real, made):
    """Mean relative difference of a discriminator's layers, summed over discriminators."""
    total = 0
    for r_layers, m_layers in zip(real, made):
        parts = [F.l1_loss(m.float(), r.float().detach()) / r.float().detach().abs().mean().clamp_min(1e-4)
                 for r, m in zip(r_layers, m_layers)]
        total = total + sum(parts) / len(parts)
    return total
