"""The speaker verifier: a recording to a direction in space that is near to those of the same voice. And its file.

Log-mel frames as of the speech recogniser, three convolutions, mean and deviation over time of what a learned weight
finds telling (attentive statistics pooling, Okabe et al. 2018), and one matrix.
"""

from dataclasses import dataclass
import math
from pathlib import Path
import sys

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "common"))
from gguf import F16, F32, FLOAT32, STRING, U32, read_file, write_file

ARCHITECTURE = "parlance-speaker-verifier"
RATE, N_MEL, FRAME, HOP = 16000, 128, 400, 160
SHORTEST = 8000             # samples: a shorter recording goes on with silence
NORM_EPS, DEVIATION_EPS = 1e-5, 1e-5


@dataclass
class Config:
    n_channel: int = 96
    n_embd: int = 96
    n_layer: int = 3
    kernel: int = 5
    stride: int = 2


def mel_filters():
    """(N_MEL, FRAME / 2 + 1) triangles of Slaney's scale, each of area 1."""
    to_hz = lambda m: m * 200 / 3 if m < 15 else 1000 * math.exp((m - 15) * math.log(6.4) / 27)
    top = 15 + math.log(8) * 27 / math.log(6.4)
    edges = np.array([to_hz(i * top / (N_MEL + 1)) for i in range(N_MEL + 2)])
    hz = np.arange(FRAME // 2 + 1) * RATE / FRAME
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rise, fall = (hz - left) / (centre - left), (right - hz) / (right - centre)
    return torch.from_numpy((np.minimum(rise, fall).clip(0) * 2 / (right - left)).astype(np.float32))


def features(audio, filters):
    """(batch, N_MEL, frames) of audio (batch, samples): log energies from 8 below the loudest, at 1, to -1."""
    audio = F.pad(audio, (0, max(0, SHORTEST - audio.shape[1])))
    window = torch.hann_window(FRAME, periodic=True, device=audio.device)
    spectrum = torch.stft(audio, FRAME, HOP, window=window, center=True, pad_mode="reflect", return_complex=True)
    log_mel = (filters @ spectrum[..., :-1].abs().square()).clamp(min=1e-10).log10()
    loudest = log_mel.amax((1, 2), keepdim=True)
    return (log_mel - loudest).clamp(min=-8) / 4 + 1


class Verifier(nn.Module):
    def __init__(self, config=Config()):
        super().__init__()
        self.config = config
        sizes = [N_MEL] + [config.n_channel] * config.n_layer
        self.conv = nn.ModuleList(nn.Conv1d(i, o, config.kernel, config.stride, config.kernel // 2)
                                  for i, o in zip(sizes, sizes[1:]))
        self.norm = nn.ModuleList(nn.LayerNorm(config.n_channel, eps=NORM_EPS) for _ in self.conv)
        self.attention = nn.Linear(config.n_channel, 1)
        self.embedding = nn.Linear(2 * config.n_channel, config.n_embd)

    def forward(self, x):
        """(batch, N_MEL, frames) -> (batch, n_embd) of length 1."""
        for conv, norm in zip(self.conv, self.norm):
            x = F.gelu(norm(conv(x).transpose(1, 2))).transpose(1, 2)
        x = x.transpose(1, 2)                                     # (batch, frames, n_channel)
        share = torch.softmax(self.attention(x), dim=1)
        mean = (share * x).sum(1)
        variance = (share * (x - mean[:, None]).square()).sum(1)
        pooled = torch.cat([mean, (variance + DEVIATION_EPS).sqrt()], -1)
        return F.normalize(self.embedding(pooled), dim=-1)


def tensors_of(model):
    """Name in the file -> parameter; they are the same."""
    return dict(model.named_parameters())


def write(path, model, threshold):
    """threshold: cosine from which on two recordings count as of one voice."""
    c = model.config
    values = [("embedding_length", c.n_embd), ("channel_count", c.n_channel), ("block_count", c.n_layer),
              ("kernel_size", c.kernel), ("stride", c.stride), ("mel_count", N_MEL), ("sample_rate_hz", RATE)]
    pairs = [("general.architecture", STRING, ARCHITECTURE), ("general.name", STRING, "Parlance demo speaker verifier"),
             ("general.description", STRING, "Trained on generated voices, to measure how alike voices are.")]
    pairs += [(f"{ARCHITECTURE}.{key}", U32, value) for key, value in values]
    pairs += [(f"{ARCHITECTURE}.threshold", FLOAT32, threshold)]
    weights = {name: x.detach().float().cpu().numpy() for name, x in tensors_of(model).items()}
    write_file(path, pairs, [(name, x, F16 if x.ndim > 1 else F32) for name, x in weights.items()])


def read(path):
    """(model, threshold) of a file that write() made."""
    keys, tensors = read_file(path)
    k = lambda name: keys[f"{ARCHITECTURE}.{name}"]
    model = Verifier(Config(k("channel_count"), k("embedding_length"), k("block_count"), k("kernel_size"), k("stride")))
    with torch.no_grad():
        for name, parameter in tensors_of(model).items():
            parameter.copy_(torch.from_numpy(np.array(tensors[name])))
    return model, k("threshold")


def equal_error_rate(embeddings, owners):
    """(rate, threshold): where as many pairs of one voice lie below as pairs of two voices above."""
    embeddings, owners = np.asarray(embeddings, np.float32), np.asarray(owners)
    first, second = np.triu_indices(len(owners), 1)
    cosines = (embeddings @ embeddings.T)[first, second]
    is_same = owners[first] == owners[second]
    order = np.argsort(cosines)
    cosines, is_same = cosines[order], is_same[order]
    missed = np.cumsum(is_same) / is_same.sum()                   # of one voice, at or below each cosine
    accepted = 1 - np.cumsum(~is_same) / (~is_same).sum()         # of two voices, above it
    at = int(np.argmax(missed >= accepted))
    return float((missed[at] + accepted[at]) / 2), float(cosines[at])
