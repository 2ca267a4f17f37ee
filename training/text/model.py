"""The demo model in PyTorch: Qwen3's transformer with tied embeddings.

The same parameters and names as in the GGUF file; (out, in) matrices, shapes in the comments.
"""

from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    n_vocab: int = 4096
    n_embd: int = 512
    n_layer: int = 6
    n_head: int = 4
    n_head_kv: int = 2
    head_dim: int = 128
    n_ff: int = 768
    n_ctx: int = 4096
    rope_theta: float = 100_000.0
    norm_eps: float = 1e-6


class RmsNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight).to(x.dtype)


def rope_table(config, n_positions, device=None):
    """cos and sin of every position and pair: two (n_positions, head_dim / 2) tables."""
    pair = torch.arange(0, config.head_dim, 2, dtype=torch.float64, device=device)
    angle = torch.arange(n_positions, dtype=torch.float64, device=device)[:, None] * config.rope_theta ** (-pair / config.head_dim)
    return angle.cos().float(), angle.sin().float()


def rope(x, cos, sin):
    """x: (batch, head, position, head_dim); rotates the pairs (i, i + head_dim / 2)."""
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x.dtype)


def attention_reference(q, k, v, mask):
    """The definition: mask is True where a query may look; query head g uses key head g / (n_head / n_head_kv)."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = (q.float() @ k.float().transpose(-1, -2)) * q.shape[-1] ** -0.5
    return (scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v.float()).to(q.dtype)


class Cache:
    """Keys and values of earlier positions, one (batch, n_head_kv, n_ctx, head_dim) pair a layer."""

    def __init__(self, config, n_batch, n_ctx, device):
        shape = (n_batch, config.n_head_kv, n_ctx, config.head_dim)
        self.keys = [torch.zeros(shape, device=device) for _ in range(config.n_layer)]
        self.values = [torch.zeros(shape, device=device) for _ in range(config.n_layer)]

    def put(self, layer, positions, k, v):
        """positions: (batch, n) of the new rows; returns all keys and values of the layer."""
        index = positions[:, None, :, None].expand(-1, k.shape[1], -1, k.shape[3])
        self.keys[layer].scatter_(2, index, k.float())
        self.values[layer].scatter_(2, index, v.float())
        return self.keys[layer], self.values[layer]


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = c = config
        linear = lambda n_in, n_out: nn.Linear(n_in, n_out, bias=False)
        self.attn_norm = RmsNorm(c.n_embd, c.norm_eps)
        self.attn_q = linear(c.n_embd, c.n_head * c.head_dim)
        self.attn_k = linear(c.n_embd, c.n_head_kv * c.head_dim)
        self.attn_v = linear(c.n_embd, c.n_head_kv * c.head_dim)
        self.attn_output = linear(c.n_head * c.head_dim, c.n_embd)
        self.attn_q_norm = RmsNorm(c.head_dim, c.norm_eps)
        self.attn_k_norm = RmsNorm(c.head_dim, c.norm_eps)
        self.ffn_norm = RmsNorm(c.n_embd, c.norm_eps)
        self.ffn_gate = linear(c.n_embd, c.n_ff)
        self.ffn_up = linear(c.n_embd, c.n_ff)
        self.ffn_down = linear(c.n_ff, c.n_embd)

    def forward(self, x, cos, sin, attend):
        """attend(q, k, v) -> the mixed values; it knows about masks and caches."""
        n_batch, n_tokens, _ = x.shape
        heads = lambda y: y.view(n_batch, n_tokens, -1, self.config.head_dim).transpose(1, 2)
        h = self.attn_norm(x)
        q = rope(self.attn_q_norm(heads(self.attn_q(h))), cos, sin)
        k = rope(self.attn_k_norm(heads(self.attn_k(h))), cos, sin)
        mixed = attend(q, k, heads(self.attn_v(h)))
        x = x + self.attn_output(mixed.transpose(1, 2).reshape(n_batch, n_tokens, -1))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.n_vocab, config.n_embd)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.output_norm = RmsNorm(config.n_embd, config.norm_eps)
        cos, sin = rope_table(config, config.n_ctx)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                small = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, std=0.02 * ((2 * config.n_layer) ** -0.5 if small else 1))

    def hidden(self, ids, attend):
        """ids: (batch, n) from position 0 on; attend as in Block. For training: no cache."""
        x = self.token_embd(ids)
        cos, sin = self.cos[:ids.shape[1]], self.sin[:ids.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin, attend)
        return self.output_norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.token_embd.weight)

    @torch.no_grad()
    def extend(self, ids, positions, cache, mask):
        """Logits (batch, n, n_vocab) of new tokens at their positions (batch, n); mask: (batch, 1, n, n_ctx of the cache)."""
        x = self.token_embd(ids)
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        for n, block in enumerate(self.blk):
            x = block(x, cos, sin, lambda q, k, v: attend_masked(q, *cache.put(n, positions, k, v), mask))
        return self.logits(self.output_norm(x))


def attend_masked(q, k, v, mask):
    if hasattr(F, "scaled_dot_product_attention"):
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        return F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), attn_mask=mask)
    return attention_reference(q, k, v, mask)


def count_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())
