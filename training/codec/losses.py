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
    """(batch, samples) -> (batch, n_mels, places), log10 of magnitudes above a floor of about -86 dB of white noise."""

    def __init__(self, window, n_mels, rate_hz=24000, hop=None):
        super().__init__()
        self.n_fft, self.hop, self.floor = window, hop or window // 4, 3e-5 * math.sqrt(window)
        self.register_buffer("window", torch.hann_window(window), persistent=False)
        self.register_buffer("filters", mel_filters(n_mels, window, rate_hz), persistent=False)

    def forward(self, sound):
        spectrum = torch.stft(sound, self.n_fft, self.hop, window=self.window, return_complex=True, pad_mode="reflect")
        power = spectrum.real.square() + spectrum.imag.square()
        return torch.log10(self.filters @ (power + 1e-12).sqrt() + self.floor)


class MelLoss(nn.Module):
    """Sum over the resolutions of the mean absolute difference."""

    def __init__(self):
        super().__init__()
        self.scales = nn.ModuleList(LogMel(*sizes) for sizes in zip(WINDOWS, N_MELS))

    def forward(self, made, real):
        loss = 0
        for scale in self.scales:
            with torch.no_grad():
                target = scale(real)
            loss = loss + F.l1_loss(scale(made), target)
        return loss


class ContentHead(nn.Module):
    """Log-mel of the sound from the first two levels' vectors alone, so that they carry what is said."""

    PLACES = 4      # of 10 ms in a frame

    def __init__(self, n_latent, n_mels=40):
        super().__init__()
        self.mel = LogMel(1024, n_mels, hop=240)
        self.head = nn.Linear(n_latent, self.PLACES * n_mels)

    def forward(self, z, sound):
        """z: (batch, frames, n_latent)."""
        with torch.no_grad():
            target = self.mel(sound)[..., :z.shape[1] * self.PLACES]
        made = self.head(z).unflatten(2, (self.PLACES, -1)).flatten(1, 2).transpose(1, 2)
        return F.l1_loss(made, target)


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
