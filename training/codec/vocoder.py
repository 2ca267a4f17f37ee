"""A voice as a vocoder gives it back: pulses and noise through the smooth spectra of a sound, with another melody. So speak voices
made of statistics or of joined pieces, of which a corpus has few."""

import math

import torch

WINDOW, HOP = 1024, 120                 # samples of a spectrum, and from one to the next (5 ms at 24 kHz)
ENVELOPE = 40                           # places of the cepstrum that hold the throat; the pitch lies behind them
PITCH_HZ, USUAL_HZ = (65.0, 400.0), 120.0     # the latter where a sound has none
VOICED = 0.45                           # of a frame's power that repeats after a period, so that it has a pitch
LONGEST_WEIGHS = 0.85                   # what repeats after the longest period counts less, since it does after its half, too
SMOOTHED = 4                            # frames on either side, with whose spectra a frame's is more or less averaged
MELODY, TRANSPOSED = (0.0, 1.2), 0.25   # how much of the melody stays, and by how much the voice is higher or lower (logarithm)


def envelope_of(log):
    """(rows, places, frames): the smooth part of logarithmic spectra, the first places of their cepstrum."""
    cepstrum = torch.fft.irfft(log, dim=1)
    cepstrum[:, ENVELOPE:WINDOW - ENVELOPE + 1] = 0
    return torch.fft.rfft(cepstrum, dim=1).real


def pitch(sound, rate_hz):
    """(rows, samples) -> (rows, frames) hertz, and whether there is a pitch: one over the delay after which a frame repeats best."""
    window = torch.hann_window(WINDOW, device=sound.device)
    frames = torch.nn.functional.pad(sound, (WINDOW // 2, WINDOW // 2)).unfold(1, WINDOW, HOP) * window
    power = torch.fft.rfft(frames, 2 * WINDOW).abs().square()
    repeats = torch.fft.irfft(power)[..., :WINDOW]
    of_window = torch.fft.irfft(torch.fft.rfft(window, 2 * WINDOW).abs().square())[:WINDOW]
    first, last = int(rate_hz / PITCH_HZ[1]), int(rate_hz / PITCH_HZ[0])
    share = repeats[..., first:last] / of_window[first:last] * of_window[0] / repeats[..., :1].clamp_min(1e-6)
    share = share * torch.linspace(1, LONGEST_WEIGHS, last - first, device=sound.device)
    best, at = share.max(-1)
    hertz = torch.nn.functional.pad(rate_hz / (at + first).float(), (2, 2), mode="replicate").unfold(1, 5, 1).median(-1).values
    loud = repeats[..., 0]
    return hertz, (best > VOICED) & (loud > 1e-4 * loud.amax(1, keepdim=True))


def _at_samples(frames, n):
    return torch.nn.functional.interpolate(frames[:, None], n, mode="linear", align_corners=True)[:, 0]


def vocoded(sound, rate_hz, generator):
    """sound: (rows, samples) of speech; the same words, as loud, in a vocoder's voice."""
    rows, n = sound.shape
    random = lambda *size: torch.rand(*size, device=sound.device, generator=generator)
    hertz, is_voiced = pitch(sound, rate_hz)
    log, weight = hertz.log(), is_voiced.float()
    middle = ((log * weight).sum(1, keepdim=True) + math.log(USUAL_HZ)) / (weight.sum(1, keepdim=True) + 1)
    kept = MELODY[0] + (MELODY[1] - MELODY[0]) * random(rows, 1)
    log = middle + (random(rows, 1) * 2 - 1) * TRANSPOSED + kept * (log - middle)
    per_sample = _at_samples(log.exp().clamp(*PITCH_HZ), n) / rate_hz
    turns = per_sample.double().cumsum(1).floor()
    pulses = torch.diff(turns, dim=1, prepend=turns[:, :1]).float() * per_sample.rsqrt()
    voiced = _at_samples(weight, n)
    noise = torch.randn(rows, n, device=sound.device, generator=generator)
    source = voiced.sqrt() * pulses + (1 - voiced).sqrt() * noise

    window = torch.hann_window(WINDOW, device=sound.device)
    spectra = lambda x: torch.stft(x, WINDOW, HOP, window=window, return_complex=True)
    log = spectra(sound).abs().clamp_min(1e-4).log()
    smooth = torch.nn.functional.avg_pool1d(log, 2 * SMOOTHED + 1, 1, SMOOTHED, count_include_pad=False)
    envelope = envelope_of(log.lerp(smooth, random(rows, 1, 1)))
    made = torch.istft(spectra(source) * envelope.exp(), WINDOW, HOP, window=window, length=n)
    return made * (sound.square().mean(1, keepdim=True).sqrt() / made.square().mean(1, keepdim=True).sqrt().clamp_min(1e-8))
