"""The recogniser's log-mel front end for a batch of clips: 128 bands, a frame every 10 ms centred on its first sample.

The same numbers as src/audio/mel.cpp with its default options.
"""

import math

import numpy as np
import torch

RATE, N_FFT, HOP, N_MEL = 16_000, 400, 160, 128
SHORTEST = 8000                 # samples; shorter clips continue with silence up to here
FLOOR, RANGE = 1e-10, 8.0


def _hz_of_mel(mel):
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * math.log(6.4) / 27))


def _mel_of_hz(hz):
    return hz * 3 / 200 if hz < 1000 else 15 + math.log(hz / 1000) * 27 / math.log(6.4)


def filterbank():
    """(N_FFT / 2 + 1, N_MEL) float64: triangles on Slaney's mel scale, each of area one."""
    edges = _hz_of_mel(np.linspace(0, _mel_of_hz(RATE / 2), N_MEL + 2))
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    hz = (np.arange(N_FFT // 2 + 1) * RATE / N_FFT)[:, None]
    height = np.minimum((hz - left) / (centre - left), (right - hz) / (right - centre))
    return np.maximum(height, 0) * 2 / (right - left)


def n_frames(n_samples):
    """Frames of a clip of n_samples (an integer, or an array of them)."""
    return np.maximum(n_samples, SHORTEST) // HOP


class MelFrontEnd:
    def __init__(self, device):
        self.filters = torch.from_numpy(filterbank()).float().to(device)
        self.window = torch.hann_window(N_FFT, periodic=True, dtype=torch.float64).float().to(device)

    @torch.no_grad()
    def __call__(self, audio, lengths):
        """audio: (batch, n) float32, zeros behind each clip; lengths: (batch,) samples -> (batch, frames, N_MEL).

        Normalised; frames that a clip does not have are 0.
        """
        lengths = lengths.clamp(min=SHORTEST)
        n = max(audio.shape[1], SHORTEST)
        audio = torch.nn.functional.pad(audio, (0, n - audio.shape[1]))
        # Each clip is mirrored at its own ends.
        at = torch.arange(-N_FFT // 2, n + N_FFT // 2, device=audio.device).abs()[None]
        at = torch.where(at >= lengths[:, None], 2 * (lengths[:, None] - 1) - at, at).clamp(min=0)
        mirrored = audio.gather(1, at)
        with torch.autocast(audio.device.type, enabled=False):
            spectrum = torch.stft(mirrored, N_FFT, HOP, N_FFT, self.window, center=False, return_complex=True)
            power = spectrum.real.square() + spectrum.imag.square()             # (batch, bins, frames + 1)
            raw = (power.transpose(1, 2)[:, :n // HOP] @ self.filters).clamp(min=FLOOR).log10()
        exists = torch.arange(raw.shape[1], device=raw.device)[None] < (lengths // HOP)[:, None]
        largest = raw.masked_fill(~exists[..., None], -math.inf).amax((1, 2), keepdim=True)
        return ((torch.maximum(raw, largest - RANGE) + 4) / 4) * exists[..., None]
