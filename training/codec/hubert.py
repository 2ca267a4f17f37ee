"""The semantic branch's front: HuBERT (Hsu et al., 2021), here small and trained with the rest of the codec."""

import math

import torch
from torch import nn
import torch.nn.functional as F


def resampling_kernel(rate_in, rate_out):
    """(phases n, taps) of the windowed sinc, inputs o per n outputs and zeros in front."""
    common = math.gcd(rate_in, rate_out)
    o, n = rate_in // common, rate_out // common
    base = min(o, n) * 0.99
    width = math.ceil(6 * o / base)
    phase = torch.arange(n, dtype=torch.float64)[:, None]
    tap = torch.arange(2 * width + o, dtype=torch.float64)
    t = ((-phase / n + (tap - width) / o) * base).clamp(-6, 6)
    return (torch.sinc(t) * torch.cos(math.pi * t / 12).square() * base / o).float(), o, width


class Resampler(nn.Module):
    """(batch, samples) at one rate to another, as torchaudio's defaults do it."""

    def __init__(self, rate_in, rate_out):
        super().__init__()
        kernel, self.o, self.width = resampling_kernel(rate_in, rate_out)
        self.n = len(kernel)
        self.register_buffer("kernel", kernel[:, None], persistent=False)

    def forward(self, x):
        y = F.conv1d(F.pad(x[:, None], (self.width, self.width + self.o)), self.kernel, stride=self.o)
        return y.transpose(1, 2).flatten(1)[:, :-(-self.n * x.shape[1] // self.o)]


def gelu(x):
    """Exact; written out where PyTorch is as old as 1.13, whose own one has wrong gradients on CPUs for strided ones."""
    return F.gelu(x) if hasattr(F, "scaled_dot_product_attention") else 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5)))


class ConvLayer(nn.Module):
    def __init__(self, n_in, n_out, kernel, stride, is_first):
        super().__init__()
        self.conv = nn.Conv1d(n_in, n_out, kernel, stride=stride, bias=False)
        if is_first:
            self.layer_norm = nn.GroupNorm(n_out, n_out, eps=1e-5)      # each channel over time
        self.is_first = is_first

    def forward(self, x):
        x = self.conv(x)
        return gelu(self.layer_norm(x) if self.is_first else x)


class Attention(nn.Module):
    def __init__(self, n, n_head):
        super().__init__()
        self.n_head = n_head
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(n, n) for _ in range(4))

    def forward(self, x):
        q, k, v = (p(x).unflatten(2, (self.n_head, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(q.shape[3]), dim=3) @ v
        return self.out_proj(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, n, n_ff):
        super().__init__()
        self.intermediate_dense = nn.Linear(n, n_ff)
        self.output_dense = nn.Linear(n_ff, n)

    def forward(self, x):
        return self.output_dense(gelu(self.intermediate_dense(x)))


class Layer(nn.Module):
    def __init__(self, n, n_head, n_ff):
        super().__init__()
        self.attention = Attention(n, n_head)
        self.layer_norm = nn.LayerNorm(n, eps=1e-5)
        self.feed_forward = FeedForward(n, n_ff)
        self.final_layer_norm = nn.LayerNorm(n, eps=1e-5)

    def forward(self, x):
        x = self.layer_norm(x + self.attention(x))
        return self.final_layer_norm(x + self.feed_forward(x))


class FeatureExtractor(nn.Module):
    def __init__(self, c):
        super().__init__()
        sizes = [1] + [c.n_conv] * len(c.conv_kernel)
        self.conv_layers = nn.ModuleList(ConvLayer(sizes[i], sizes[i + 1], k, s, i == 0)
                                         for i, (k, s) in enumerate(zip(c.conv_kernel, c.conv_stride)))

    def forward(self, x):
        for layer in self.conv_layers:
            x = layer(x)
        return x


class FeatureProjection(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.layer_norm = nn.LayerNorm(c.n_conv, eps=1e-5)
        self.projection = nn.Linear(c.n_conv, c.n_semantic)

    def forward(self, x):
        return self.projection(self.layer_norm(x))


class PositionalConv(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv1d(c.n_semantic, c.n_semantic, c.pos_kernel, padding=c.pos_kernel // 2, groups=c.n_pos_group)

    def forward(self, x):
        return gelu(self.conv(x.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pos_conv_embed = PositionalConv(c)
        self.layer_norm = nn.LayerNorm(c.n_semantic, eps=1e-5)
        self.layers = nn.ModuleList(Layer(c.n_semantic, c.n_semantic_head, c.n_semantic_ff)
                                    for _ in range(c.n_semantic_layer))

    def forward(self, x):
        """The mean of the states between the layers."""
        x = self.layer_norm(x + self.pos_conv_embed(x))
        total = x
        for layer in self.layers:
            x = layer(x)
            total = total + x
        return total / (len(self.layers) + 1)


class Hubert(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.feature_extractor = FeatureExtractor(c)
        self.feature_projection = FeatureProjection(c)
        self.encoder = Encoder(c)

    def forward(self, sound):
        """(batch, samples at 16 kHz) -> (batch, n_semantic, frames): every second place."""
        x = self.feature_extractor(F.pad(sound, (160, 160))[:, None])
        x = self.encoder(self.feature_projection(x.transpose(1, 2)))
        return x[:, :x.shape[1] // 2 * 2:2].transpose(1, 2)
