"""The Silero voice activity detector's graph (version 5, 16 kHz) for training, and its file.

512 samples and the 64 before them give one probability of speech: four Hann-windowed spectra, four convolutions over
them, an LSTM that remembers earlier windows, and one output.
"""

from pathlib import Path
import sys

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "common"))
from gguf import F16, STRING, U32, read_file, write_file

RATE = 16000
WINDOW, CONTEXT, FRAME, HOP = 512, 64, 256, 128
BINS, HIDDEN = FRAME // 2 + 1, 128
CONVS = ((BINS, 128, 1), (128, 64, 2), (64, 64, 2), (64, HIDDEN, 1))    # channels in, out, stride


def spectra(audio, context=None):
    """Magnitudes (batch, windows, BINS, 4) of audio (batch, windows * WINDOW); context: the CONTEXT samples before."""
    if context is None:
        context = torch.zeros_like(audio[:, :CONTEXT])
    windows = torch.cat([context, audio], 1).unfold(1, CONTEXT + WINDOW, WINDOW)
    padding = windows[..., -CONTEXT - 1:-1].flip(-1)          # reflected; the last sample is not repeated
    frames = torch.cat([windows, padding], -1).unfold(-1, FRAME, HOP)
    hann = torch.hann_window(FRAME, periodic=True, device=audio.device)
    return torch.fft.rfft(frames * hann).abs().transpose(-1, -2)


class Silero(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList(nn.Conv1d(i, o, 3, stride=stride, padding=1) for i, o, stride in CONVS)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
        self.head = nn.Conv1d(HIDDEN, 1, 1)
        with torch.no_grad():
            self.lstm.bias_ih_l0[HIDDEN:2 * HIDDEN] = 1       # forget gates begin open

    def forward(self, magnitudes, state=None):
        """Logits (batch, windows) of spectra(), and the LSTM's state (h, c), each (1, batch, HIDDEN)."""
        n_batch, n_windows = magnitudes.shape[:2]
        x = magnitudes.flatten(0, 1)
        for conv in self.encoder:
            x = F.relu(conv(x))
        h, state = self.lstm(x.view(n_batch, n_windows, HIDDEN), state)
        return self.head(F.relu(h).transpose(1, 2))[:, 0], state


def basis():
    """(2 * BINS, 1, FRAME): the windowed cosines, then the negative sines, that the files hold."""
    n, k = np.arange(FRAME), np.arange(BINS)[:, None]
    hann = 0.5 * (1 - np.cos(2 * np.pi * n / FRAME))
    angles = 2 * np.pi * (k * n % FRAME) / FRAME
    return np.concatenate([hann * np.cos(angles), -hann * np.sin(angles)])[:, None].astype(np.float32)


def write(path, model):
    """The GGUF form with all tensors in f16."""
    weights = {name: x.detach().float().cpu().numpy() for name, x in model.named_parameters()}
    tensors = {f"vad.encoder.{i}.{part}": weights[f"encoder.{i}.{part}"] for i in range(4) for part in ("weight", "bias")}
    tensors.update({f"vad.lstm.{part}": weights[f"lstm.{part}_l0"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    tensors.update({"vad.head.weight": weights["head.weight"], "vad.head.bias": weights["head.bias"], "vad.stft.basis": basis()})
    sizes = {"window_samples": WINDOW, "sample_rate_hz": RATE, "state_hidden_dim": HIDDEN, "state_cell_dim": HIDDEN,
             "stft_filter_length": FRAME, "stft_hop": HOP, "stft_pad": CONTEXT, "encoder_t": 1, "lstm_input_dim": HIDDEN}
    pairs = [("general.architecture", STRING, "silero_vad"), ("general.name", STRING, "Parlance demo voice detector"),
             ("general.description", STRING, "Trained on generated speech and noises, for demonstrations and tests of Parlance."),
             ("silero_vad.variant", STRING, "silero_vad_v5"), ("silero_vad.upstream_commit", STRING, "none")]
    pairs += [("silero_vad." + key, U32, value) for key, value in sizes.items()]
    write_file(path, pairs, [(name, tensors[name], F16) for name in sorted(tensors)])


def read(path):
    """The model of a file that write() made."""
    _, tensors = read_file(path)
    model = Silero()
    names = {"encoder": "vad.encoder", "head": "vad.head", "lstm": "vad.lstm"}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            part, rest = name.split(".", 1)
            parameter.copy_(torch.from_numpy(np.array(tensors[f"{names[part]}.{rest.removesuffix('_l0')}"])))
    return model


@torch.no_grad()
def probabilities(model, audio):
    """(windows) of one recording from its beginning; the last window is filled with zeros."""
    audio = F.pad(audio, (0, -len(audio) % WINDOW))
    return torch.sigmoid(model(spectra(audio[None]))[0])[0]
