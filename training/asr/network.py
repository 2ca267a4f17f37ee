"""A small Qwen3-ASR in PyTorch: the audio encoder, and the text model's transformer as the decoder.

Parameters are named as in the two GGUF files. What a clip's tokens are does not depend on the other clips of its batch.
"""

from dataclasses import dataclass, field
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

import shared_path  # noqa: F401
from mel import N_MEL
from model import Config as DecoderConfig, Model as Decoder, attention_reference

CHUNK_FRAMES, CHUNK_TOKENS = 100, 13    # convolutions see one second
WINDOW_CHUNKS = 8                       # attention sees eight
CTC_PER_TOKEN = 3                       # an encoder token lasts 80 ms, in which three characters may be said
N_PHONES = 64               # of the auxiliary head, which is as large as any corpus needs
CHUNKS_AT_ONCE = 64         # in training the convolutions' batch is a multiple of this, for few different shapes
CTC_CHARACTERS = " 'abcdefghijklmnopqrstuvwxyz"     # symbol 0 is the blank, these follow


@dataclass(frozen=True)
class EncoderConfig:
    n_channel: int = 48
    n_embd: int = 256
    n_head: int = 4
    n_layer: int = 7
    n_ff: int = 768
    n_out: int = 192
    n_pos: int = 25             # rows of the position table: 13 are used here, 25 where chunks last two seconds
    norm_eps: float = 1e-5


@dataclass(frozen=True)
class Config:
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    decoder: DecoderConfig = field(default_factory=lambda: DecoderConfig(
        n_vocab=4096, n_embd=192, n_layer=4, n_head=4, n_head_kv=2, head_dim=64, n_ff=448, n_ctx=4096,
        rope_theta=10_000.0))


TINY = Config(EncoderConfig(n_channel=8, n_embd=64, n_head=1, n_layer=2, n_ff=128, n_out=64),
              DecoderConfig(n_vocab=4096, n_embd=64, n_layer=2, n_head=2, n_head_kv=1, head_dim=64, n_ff=128,
                            n_ctx=4096, rope_theta=10_000.0))


def halved(n):
    return (n + 1) // 2


def n_tokens(n_frames):
    """Encoder tokens of a clip (an integer or an array)."""
    return n_frames // CHUNK_FRAMES * CHUNK_TOKENS + halved(halved(halved(n_frames % CHUNK_FRAMES)))


def to_device(x, device):
    """A numpy array there; through pinned memory, so that a GPU is not waited for."""
    x = torch.from_numpy(np.ascontiguousarray(x))
    return x.pin_memory().to(device, non_blocking=True) if torch.device(device).type == "cuda" else x.to(device)


class Layout:
    """Where the chunks, windows and tokens of a batch of clips lie; made from the clips' numbers of frames.

    Arrays are numpy's until on(device) moves those that the network reads.
    """
    MOVED = ("real", "row", "slot", "key_mask", "token", "padded")

    def __init__(self, n_frames, window_chunks=WINDOW_CHUNKS):
        """n_frames: (batch,) integers."""
        n_frames = np.asarray(n_frames, np.int64)
        self.n_tokens = n_tokens(n_frames)                                      # (batch,)
        n_chunks = -(-n_frames // CHUNK_FRAMES)
        self.window_chunks = int(min(window_chunks, n_chunks.max()))
        n_windows = -(-n_chunks // self.window_chunks)
        self.n_windows = int(n_windows.sum())

        clip = np.repeat(np.arange(len(n_frames)), n_chunks)                    # of every chunk
        chunk = np.arange(len(clip)) - np.repeat(n_chunks.cumsum() - n_chunks, n_chunks)     # within its clip
        first = (n_windows.cumsum() - n_windows)[clip] + chunk // self.window_chunks
        self.slot = first * self.window_chunks + chunk % self.window_chunks
        real = np.minimum(n_frames[clip] - chunk * CHUNK_FRAMES, CHUNK_FRAMES)  # frames of every chunk
        tokens = halved(halved(halved(real)))
        is_token = np.zeros((self.n_windows * self.window_chunks, CHUNK_TOKENS), bool)
        is_token[self.slot] = np.arange(CHUNK_TOKENS) < tokens[:, None]

        self.longest = int(n_frames.max())
        within = np.arange(CHUNK_FRAMES)[None]
        self.real = within < real[:, None]                                      # (chunk, 100)
        row = (clip * self.longest + chunk * CHUNK_FRAMES)[:, None] + within
        self.row = np.minimum(row, len(n_frames) * self.longest - 1)

        # A clip of less than one chunk is not filled up: behind its end the convolutions see their own zeros.
        alone = (n_chunks[clip] == 1) & (real < CHUNK_FRAMES)
        self.columns = None
        if alone.any():
            ends, self.columns = np.where(alone, real, CHUNK_FRAMES), []
            for width in (50, 25):
                ends = halved(ends)
                self.columns.append((np.arange(width) < ends[:, None])[:, None, None])
        self.key_mask = is_token.reshape(self.n_windows, 1, 1, -1)
        self.token = np.flatnonzero(is_token)                                   # all clips' tokens, clip after clip
        self.clip_of_token = np.repeat(np.arange(len(n_frames)), self.n_tokens)
        first_token = np.repeat(self.n_tokens.cumsum() - self.n_tokens, self.n_tokens)
        self.place_in_clip = np.arange(len(self.clip_of_token)) - first_token
        self.padded = self.clip_of_token * int(self.n_tokens.max()) + self.place_in_clip

    def on(self, device):
        for name in self.MOVED:
            setattr(self, name, to_device(getattr(self, name), device))
        if self.columns is not None:
            self.columns = [to_device(columns, device) for columns in self.columns]
        return self


def attend_to(q, k, v, mask):
    """(batch, head, n, head_dim); mask is True where a query may look."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return attention_reference(q, k, v, mask)


def attend_causally(q, k, v):
    """Rows are filled up at their ends, so that no further mask is needed."""
    if hasattr(F, "scaled_dot_product_attention"):
        group = q.shape[1] // k.shape[1]
        v = v.to(q.dtype)
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    n = q.shape[2]
    return attention_reference(q, k, v, torch.ones(n, n, dtype=torch.bool, device=q.device).tril())


class EncoderBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n_head = c.n_head
        self.ln1 = nn.LayerNorm(c.n_embd, c.norm_eps)
        self.attn_q, self.attn_k, self.attn_v, self.attn_out = (nn.Linear(c.n_embd, c.n_embd) for _ in range(4))
        self.ln2 = nn.LayerNorm(c.n_embd, c.norm_eps)
        self.ffn_up, self.ffn_down = nn.Linear(c.n_embd, c.n_ff), nn.Linear(c.n_ff, c.n_embd)

    def forward(self, x, mask, dropout):
        """x: (window, token, n_embd)."""
        heads = lambda y: y.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        h = self.ln1(x)
        mixed = attend_to(heads(self.attn_q(h)), heads(self.attn_k(h)), heads(self.attn_v(h)), mask)
        x = x + F.dropout(self.attn_out(mixed.transpose(1, 2).flatten(2)), dropout, self.training)
        return x + F.dropout(self.ffn_down(F.gelu(self.ffn_up(self.ln2(x)))), dropout, self.training)


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config, self.dropout = c, 0.0
        convolution = lambda n_in: nn.Conv2d(n_in, c.n_channel, 3, stride=2, padding=1)
        self.conv2d = nn.ModuleDict({"1": convolution(1), "2": convolution(c.n_channel), "3": convolution(c.n_channel)})
        self.conv_out = nn.Linear(N_MEL // 8 * c.n_channel, c.n_embd, bias=False)
        self.blk = nn.ModuleList(EncoderBlock(c) for _ in range(c.n_layer))
        self.post_ln = nn.LayerNorm(c.n_embd, c.norm_eps)
        self.mlp = nn.ModuleDict({"1": nn.Linear(c.n_embd, c.n_embd), "2": nn.Linear(c.n_embd, c.n_out)})
        half = c.n_embd // 2
        angle = torch.arange(c.n_pos)[:, None] * torch.exp(-torch.arange(half) * (math.log(10_000) / (half - 1)))
        self.register_buffer("position", torch.cat([angle.sin(), angle.cos()], 1).float(), persistent=False)
        for name, parameter in self.named_parameters():
            if name.startswith("blk") and parameter.dim() == 2:
                small = (2 * c.n_layer) ** -0.5 if name.endswith(("attn_out.weight", "ffn_down.weight")) else 1
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5 * small)
            elif name.startswith("blk") and name.endswith(".bias"):
                nn.init.zeros_(parameter)
        self.to(memory_format=torch.channels_last)

    def forward(self, mel, layout):
        """mel: (batch, frames, N_MEL) -> all clips' tokens one after the other: (token, n_embd) before the projector,
        (token, n_out) behind it, and (token, n_embd) from the middle of the blocks."""
        image = mel[:, :layout.longest].flatten(0, 1)[layout.row] * layout.real[..., None]  # (chunk, 100, N_MEL)
        n_chunks, columns = len(image), layout.columns
        if self.training:
            more = -n_chunks % CHUNKS_AT_ONCE
            image = F.pad(image, (0, 0, 0, 0, 0, more))
            columns = columns and [F.pad(column, (0, 0) * 3 + (0, more)) for column in columns]
        x = image.transpose(1, 2)[:, None]                                      # (chunk, 1, frequency, time)
        x = F.gelu(self.conv2d["1"](x))
        if columns is not None:
            x = x * columns[0]
        x = F.gelu(self.conv2d["2"](x))
        if columns is not None:
            x = x * columns[1]
        x = F.gelu(self.conv2d["3"](x))[:n_chunks]                              # (chunk, channel, 16, 13)
        h = self.conv_out(x.permute(0, 3, 1, 2).flatten(2)) + self.position[:CHUNK_TOKENS]
        rows = h.new_zeros(layout.n_windows * layout.window_chunks, *h.shape[1:]).index_copy(0, layout.slot, h)
        h = rows.view(layout.n_windows, -1, h.shape[-1])
        for n, block in enumerate(self.blk):
            h = block(h, layout.key_mask, self.dropout)
            if n == len(self.blk) // 2:
                middle = h
        h, middle = (x.flatten(0, 1).index_select(0, layout.token) for x in (h, middle))
        h = self.post_ln(h)
        return h, self.mlp["2"](F.gelu(self.mlp["1"](h))), middle


class Recogniser(nn.Module):
    """The two networks, and heads that only training has: characters of what is said, and phones."""

    def __init__(self, config):
        super().__init__()
        self.config, self.decoder_dropout = config, 0.0
        n_embd, n_symbols = config.encoder.n_embd, 1 + len(CTC_CHARACTERS)
        self.encoder, self.decoder = Encoder(config.encoder), Decoder(config.decoder)
        self.ctc = nn.Linear(n_embd, CTC_PER_TOKEN * n_symbols)
        self.ctc_middle = nn.Sequential(nn.LayerNorm(n_embd), nn.Linear(n_embd, CTC_PER_TOKEN * n_symbols))
        self.ctc_phones = nn.Sequential(nn.LayerNorm(n_embd), nn.Linear(n_embd, CTC_PER_TOKEN * N_PHONES))

    def ctc_log_probabilities(self, h, layout, head=None):
        """h: (token, n_embd) -> (place, clip, symbol), as torch's CTC loss wants them."""
        logits = (head or self.ctc)(h).float().view(len(h), CTC_PER_TOKEN, -1)
        n_clips, longest = len(layout.n_tokens), int(layout.n_tokens.max())
        padded = logits.new_zeros(n_clips * longest, *logits.shape[1:]).index_copy(0, layout.padded, logits)
        return padded.view(n_clips, longest * CTC_PER_TOKEN, -1).log_softmax(-1).transpose(0, 1)

    def hidden(self, ids, rows, places):
        """ids: (batch, n), anything where audio is; rows: (token, n_out) of the encoder, to `places` of the flat batch.
        """
        x = self.decoder.token_embd(ids)
        shape = x.shape
        x = x.flatten(0, 1)
        x = x.index_copy(0, places, rows.to(x.dtype)).view(shape)
        cos, sin = self.decoder.cos[:ids.shape[1]], self.decoder.sin[:ids.shape[1]]
        for block in self.decoder.blk:
            y = block(x, cos, sin, attend_causally)
            # Dropout of what the block adds; the block itself is the text model's and has none.
            x = x + F.dropout(y - x, self.decoder_dropout) if self.training and self.decoder_dropout else y
        return self.decoder.output_norm(x)
