"""The codec of OmniVoice (k2-fsa, 2026; after HiggsAudio 2) at a small size: 24 kHz sound to 25 frames a second of 8 codes
and back. Modules are named as the tensors of the GGUF file are, so that a state dict is the file's content.

Sound is (batch, samples), inside (batch, channels, places).
"""

from dataclasses import asdict, dataclass
import math

import torch
from torch import nn
import torch.nn.functional as F

from hubert import Hubert, Resampler
from quantiser import ResidualQuantiser


@dataclass
class Config:
    n_codebook: int = 8
    n_codes: int = 512
    codebook_dim: int = 16
    n_latent: int = 192         # what quantisers work on
    n_hidden: int = 96          # between that and the acoustic branches
    n_decoder: int = 256        # width at the frames' end; halves with each block
    n_encoder: int = 8          # width at the sound's end; doubles with each block
    ratios: tuple = (8, 5, 4, 2, 3)
    n_semantic: int = 64
    n_semantic_ff: int = 192
    n_semantic_head: int = 1
    n_semantic_layer: int = 3
    n_conv: int = 32            # of each of the seven convolutions in front
    conv_kernel: tuple = (10, 3, 3, 3, 3, 2, 2)
    conv_stride: tuple = (5, 2, 2, 2, 2, 2, 2)
    pos_kernel: int = 128
    n_pos_group: int = 16
    sample_rate_hz: int = 24000
    semantic_rate_hz: int = 16000

    @property
    def hop(self):
        return math.prod(self.ratios)

    def as_dict(self):
        return asdict(self)


TINY = dict(n_codes=64, codebook_dim=8, n_latent=32, n_hidden=16, n_decoder=64, n_encoder=2, n_semantic=32,
            n_semantic_ff=32, n_conv=16, pos_kernel=16, n_pos_group=4)


def snake_reference(x, alpha):
    """x + sin^2(alpha x) / alpha, in float32."""
    wide = x.float()
    return (wide + torch.sin(alpha * wide).square() / (alpha + 1e-9)).to(x.dtype)


class Snake(nn.Module):
    function = staticmethod(snake_reference)        # train.py puts a fused one here

    def __init__(self, n):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, n, 1))

    def forward(self, x):
        return self.function(x, self.alpha)


class ResidualUnit(nn.Module):
    def __init__(self, n, dilation):
        super().__init__()
        self.snake1 = Snake(n)
        self.conv1 = nn.Conv1d(n, n, 7, dilation=dilation, padding=3 * dilation)
        self.snake2 = Snake(n)
        self.conv2 = nn.Conv1d(n, n, 1)

    def forward(self, x):
        return x + self.conv2(self.snake2(self.conv1(self.snake1(x))))


class TransposedConv(nn.Module):
    """Window of twice the stride, cropped; an odd stride's missing last place is the bare bias."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.empty(n_in, n_out, 2 * stride))
        self.bias = nn.Parameter(torch.zeros(n_out))
        bound = math.sqrt(3 / (2 * n_in))        # two products meet at a place; keeps the variance
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x):
        crop = -(-self.stride // 2)
        y = F.conv_transpose1d(x, self.weight, stride=self.stride, padding=crop)
        if self.stride % 2:
            y = F.pad(y, (0, 1))
        return y + self.bias[:, None].to(y.dtype)


class DecoderBlock(nn.Module):
    def __init__(self, n, stride):
        super().__init__()
        self.snake1 = Snake(n)
        self.conv_t1 = TransposedConv(n, n // 2, stride)
        self.res_unit1, self.res_unit2, self.res_unit3 = (ResidualUnit(n // 2, d) for d in (1, 3, 9))

    def forward(self, x):
        return self.res_unit3(self.res_unit2(self.res_unit1(self.conv_t1(self.snake1(x)))))


class EncoderBlock(nn.Module):
    def __init__(self, n, stride):
        super().__init__()
        self.res_unit1, self.res_unit2, self.res_unit3 = (ResidualUnit(n, d) for d in (1, 3, 9))
        self.snake1 = Snake(n)
        self.conv1 = nn.Conv1d(n, 2 * n, 2 * stride, stride=stride, padding=-(-stride // 2))

    def forward(self, x):
        return self.conv1(self.snake1(self.res_unit3(self.res_unit2(self.res_unit1(x)))))


class AcousticDecoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv1d(c.n_hidden, c.n_decoder, 7, padding=3)
        widths = [c.n_decoder >> i for i in range(len(c.ratios) + 1)]
        self.block = nn.ModuleList(DecoderBlock(n, s) for n, s in zip(widths, c.ratios))
        self.snake1 = Snake(widths[-1])
        self.conv2 = nn.Conv1d(widths[-1], 1, 7, padding=3)

    def forward(self, x):
        x = self.conv1(x)
        for block in self.block:
            x = block(x)
        x = self.snake1(x)
        with torch.autocast(x.device.type, enabled=False):      # the sound itself is not for half precision
            return self.conv2(x.float())


class AcousticEncoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv1d(1, c.n_encoder, 7, padding=3)
        self.block = nn.ModuleList(EncoderBlock(c.n_encoder << i, s) for i, s in enumerate(c.ratios))
        n = c.n_encoder << len(c.ratios)
        self.snake1 = Snake(n)
        self.conv2 = nn.Conv1d(n, c.n_hidden, 3, padding=1)

    def forward(self, x):
        x = self.conv1(x)
        for block in self.block:
            x = block(x)
        return self.conv2(self.snake1(x))


class SemanticUnit(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1 = nn.Conv1d(n, n, 3, padding=1, bias=False)
        self.conv2 = nn.Conv1d(n, n, 1, bias=False)

    def forward(self, x):
        return x + self.conv2(F.elu(self.conv1(F.elu(x))))


class SemanticBlock(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.res_units = nn.ModuleList(SemanticUnit(n) for _ in range(2))
        self.conv = nn.Conv1d(n, n, 3, padding=1)

    def forward(self, x):
        for unit in self.res_units:
            x = unit(x)
        return self.conv(x)


class SemanticEncoder(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Conv1d(n, n, 3, padding=1, bias=False)
        self.conv_blocks = nn.ModuleList(SemanticBlock(n) for _ in range(2))

    def forward(self, x):
        x = self.conv(x)
        for block in self.conv_blocks:
            x = block(x)
        return x


def start_convolution(module):
    """Weights that keep the variance of what comes in."""
    if isinstance(module, nn.Conv1d):
        nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
        if module.bias is not None:
            nn.init.zeros_(module.bias)


class Codec(nn.Module):
    def __init__(self, config):
        super().__init__()
        c = self.config = config
        self.quantizer = ResidualQuantiser(c)
        self.fc = nn.Linear(c.n_hidden + c.n_semantic, c.n_latent)
        self.fc2 = nn.Linear(c.n_latent, c.n_hidden)
        self.acoustic_decoder = AcousticDecoder(c)
        self.acoustic_encoder = AcousticEncoder(c)
        self.resampler = Resampler(c.sample_rate_hz, c.semantic_rate_hz)
        self.semantic_model = Hubert(c)
        self.encoder_semantic = SemanticEncoder(c.n_semantic)
        self.apply(start_convolution)
        for layer in self.semantic_model.feature_extractor.conv_layers:
            nn.init.kaiming_normal_(layer.conv.weight, nonlinearity="relu")     # near enough for GELU
        for module in self.modules():
            if isinstance(module, (ResidualUnit, SemanticUnit)):
                module.conv2.weight.data.mul_(0.3)          # residual streams grow slowly
        self.acoustic_decoder.conv2.weight.data.mul_(0.05)  # speech is softer than unit variance

    def latent(self, sound):
        """(batch, frames * hop) -> (batch, frames, n_latent) in float32."""
        acoustic = self.acoustic_encoder(sound[:, None])
        with torch.autocast(sound.device.type, enabled=False):      # what codes depend on: not in half precision
            semantic = self.encoder_semantic(self.semantic_model(self.resampler(sound)))
            return self.fc(torch.cat([acoustic.float(), semantic], 1).transpose(1, 2))

    def sound(self, z):
        """(batch, frames, n_latent) -> (batch, frames * hop)."""
        return self.acoustic_decoder(self.fc2(z).transpose(1, 2))[:, 0]

    @torch.no_grad()
    def encode(self, sound):
        """(batch, frames * hop) -> (batch, n_codebook, frames)."""
        r = self.latent(sound)
        return self.quantizer.encode(r.flatten(0, 1)).unflatten(0, r.shape[:2]).transpose(1, 2)

    @torch.no_grad()
    def decode(self, codes):
        """(batch, n_codebook, frames) -> (batch, frames * hop)."""
        flat = codes.transpose(1, 2).flatten(0, 1).long()
        return self.sound(self.quantizer.decode(flat).unflatten(0, (codes.shape[0], codes.shape[2])))

    @torch.no_grad()
    def take(self, other):
        """The weights of a codec that has these sizes, but maybe fewer semantic layers. What those have more adds nothing to
        the stream yet."""
        state = other.state_dict()
        begins = [f"semantic_model.encoder.layers.{k}." for k in range(other.config.n_semantic_layer, self.config.n_semantic_layer)]
        more = {name: x for name, x in self.state_dict().items() if name.startswith(tuple(begins))}
        last = f"semantic_model.encoder.layers.{other.config.n_semantic_layer - 1}."
        for name, x in more.items():
            if ".out_proj." in name or ".output_dense." in name:
                x.zero_()
            elif ".final_layer_norm." in name:      # a norm of what is normal already: only its scale and shift count
                x.copy_(state[last + name.split(".", 4)[4]])
        self.load_state_dict({**state, **more})
