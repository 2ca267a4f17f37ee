"""Critics of sound for adversarial training: spectrograms at three resolutions (Jang et al., 2021, UnivNet) and the waveform
folded at five periods (Kong et al., 2020, HiFi-GAN), both small."""

import torch
from torch import nn
import torch.nn.functional as F

RESOLUTIONS = (1920, 960, 480)
PERIODS = (2, 3, 5, 7, 11)


weight_norm = getattr(nn.utils.parametrizations, "weight_norm", nn.utils.weight_norm)     # the older name is going away


def normalised(conv):
    nn.init.kaiming_normal_(conv.weight, a=0.1)
    nn.init.zeros_(conv.bias)
    return weight_norm(conv)


class SpectrogramCritic(nn.Module):
    """Works on real and imaginary parts, strides along frequency."""

    def __init__(self, n_fft, n):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        wide, narrow = dict(kernel_size=(3, 9), stride=(1, 2), padding=(1, 4)), dict(kernel_size=3, padding=1)
        self.convs = nn.ModuleList(normalised(conv) for conv in (
            nn.Conv2d(2, n, **dict(wide, stride=(1, 1))) if n_fft < 600 else nn.Conv2d(2, n, **wide),
            nn.Conv2d(n, n, **wide), nn.Conv2d(n, n, **wide), nn.Conv2d(n, n, **wide), nn.Conv2d(n, n, **narrow)))
        self.last = normalised(nn.Conv2d(n, 1, **narrow))

    def forward(self, sound):
        with torch.autocast(sound.device.type, enabled=False):
            spectrum = torch.stft(sound.float(), self.n_fft, self.n_fft // 4, window=self.window, return_complex=True,
                                  normalized=True)
            x = torch.view_as_real(spectrum).permute(0, 3, 2, 1)      # (batch, 2, places, bins)
            x = x * (x.square().sum(1, keepdim=True) + 1e-4).pow(-0.25)      # loud bins are not all that counts
        return run(self, x)


class PeriodCritic(nn.Module):
    def __init__(self, period, n):
        super().__init__()
        self.period = period
        sizes = [1, n, 2 * n, 4 * n, 8 * n, 8 * n]
        self.convs = nn.ModuleList(normalised(nn.Conv2d(a, b, (5, 1), stride=(3 if i < 4 else 1, 1), padding=(2, 0)))
                                   for i, (a, b) in enumerate(zip(sizes, sizes[1:])))
        self.last = normalised(nn.Conv2d(sizes[-1], 1, (3, 1), padding=(1, 0)))

    def forward(self, sound):
        n = -(-sound.shape[1] // self.period) * self.period
        return run(self, F.pad(sound, (0, n - sound.shape[1])).view(len(sound), 1, -1, self.period))


def run(critic, x):
    layers = []
    for conv in critic.convs:
        x = F.leaky_relu(conv(x), 0.1)
        layers.append(x)
    return critic.last(x), layers


class Critics(nn.Module):
    def __init__(self, n_spectrogram=32, n_period=16):
        super().__init__()
        self.critics = nn.ModuleList([SpectrogramCritic(n_fft, n_spectrogram) for n_fft in RESOLUTIONS] +
                                     [PeriodCritic(period, n_period) for period in PERIODS])

    def forward(self, sound):
        """(scores, layers) of each critic."""
        return tuple(zip(*(critic(sound) for critic in self.critics)))
