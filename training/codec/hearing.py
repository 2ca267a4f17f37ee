"""What the codec's ear must see through: noises, and throats that no voice of the corpus has."""

from pathlib import Path
import sys

import torch

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
import augment
from vocoder import WINDOW, envelope_of, vocoded

ROWS_OF_A_KIND, SECONDS = 64, 8         # of noise that is made once
NOISY, SNR_DB = 0.6, (0.0, 25.0)        # share of the crops, and speech above noise in them
NOISE_DB = 8.0                          # by which a noise's spectrum is bent each time
BENT, MOST_BENT = 0.35, 0.22            # share whose speed and pitch change, and by how much at most (logarithm)
RESHAPED, MOST_RESHAPED = 0.35, 0.25    # share whose throat is longer or shorter, at the same pitch
VOCODED = 0.3                           # share whose voice is a vocoder's
COLOURED, COLOUR_DB = 0.3, 6.0          # share whose voice has another colour
HOP = 256                               # samples from one spectrum to the next
MOST_GAIN = 3.0                         # of the envelope, natural logarithm


def other_throat(sound, factor):
    """Resonances of row b at factor[b] times their frequencies, while the pitch stays: the smooth part of each frame's
    logarithmic spectrum (its first places in the cepstrum) is stretched. sound: (rows, samples)."""
    window = torch.hann_window(WINDOW, device=sound.device)
    spectrum = torch.stft(sound, WINDOW, HOP, window=window, return_complex=True)
    envelope = envelope_of(spectrum.abs().clamp_min(1e-5).log())
    place = torch.arange(envelope.shape[1], device=sound.device) / factor[:, None]
    place = place.clamp(max=envelope.shape[1] - 1.001)
    whole, index = place.floor(), place.long()[:, :, None].expand(-1, -1, envelope.shape[2])
    moved = envelope.gather(1, index).lerp(envelope.gather(1, index + 1), (place - whole)[:, :, None])
    gain = (moved - envelope).clamp(-MOST_GAIN, MOST_GAIN).exp()
    return torch.istft(spectrum * gain, WINDOW, HOP, window=window, length=sound.shape[1])


class Hearing:
    def __init__(self, device, seed, rate_hz, speech=None):
        """speech: int16 samples of the corpus on the device, for babble."""
        self.generator = torch.Generator(device=device).manual_seed(seed)
        self.noise = augment.Noise(rate_hz, self.generator, speech)
        self.rate_hz, self.device = rate_hz, device
        self.bank = torch.cat([self.noise.draw(kind, 8, SECONDS * rate_hz).half()
                               for kind in augment.SEEN_NOISES for _ in range(ROWS_OF_A_KIND // 8)])

    def random(self, *size):
        return torch.rand(*size, device=self.device, generator=self.generator)

    def factor(self, n, share, most):
        """(n,) factors around 1, and 1 for all but a share."""
        return torch.exp((self.random(n) * 2 - 1) * most * (self.random(n) < share))

    @torch.no_grad()
    def __call__(self, sound, keeps=None):
        """sound: (crops, samples) -> (what is to be understood, what is heard), both of that shape. keeps: (crops,) bool,
        whose voice stays what it is."""
        n_crops, n = sound.shape
        clean = augment.changed_speed(sound, self.factor(n_crops, BENT, MOST_BENT))
        throat = self.factor(n_crops, RESHAPED, MOST_RESHAPED)
        clean = torch.where(throat[:, None] == 1, clean, other_throat(clean, throat))
        clean = torch.where(self.random(n_crops, 1) < VOCODED, vocoded(clean, self.rate_hz, self.generator), clean)
        clean = torch.where(self.random(n_crops, 1) < COLOURED, augment.coloured(clean, self.noise, COLOUR_DB), clean)
        if keeps is not None:
            clean = torch.where(keeps[:, None], sound, clean)
        clean = clean / clean.abs().amax(1, keepdim=True).clamp_min(1.0)
        row = (self.random(n_crops) * len(self.bank)).long()
        first = (self.random(n_crops) * (self.bank.shape[1] - n)).long()
        noise = self.bank[row[:, None], first[:, None] + torch.arange(n, device=self.device)].float()
        noise = augment.coloured(noise, self.noise, NOISE_DB)
        decibels = SNR_DB[0] + (SNR_DB[1] - SNR_DB[0]) * self.random(n_crops)
        heard = augment.mix(clean, noise, decibels, self.rate_hz)
        heard = torch.where(self.random(n_crops, 1) < NOISY, heard, clean)
        return clean, heard / heard.abs().amax(1, keepdim=True).clamp_min(1.0)
