"""The block drafter in PyTorch: Qwen3 layers over the target's hidden states, after Chen et al., arXiv 2602.06036.

It drafts a block of n_block tokens at once: slot 0 holds the newest token, the others a mask token, and slot i says
which token stands at its own position. Keys and values of the context come from the target's states, the same for every
layer. Embedding and output head are the target's.
"""

from dataclasses import dataclass, replace
from pathlib import Path
import sys

import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "text"))
from model import Block, Config, RmsNorm, attend_masked, rope, rope_table     # noqa: F401


@dataclass(frozen=True)
class DrafterConfig:
    target: Config                      # sizes of the residual stream, rope and norms are the target's
    n_layer: int = 2
    n_head: int = 4
    n_head_kv: int = 2
    n_ff: int = 256
    n_block: int = 8
    target_layers: tuple = (1, 3)       # whose outputs are read, counted from 0
    mask_token: int = 4064

    @property
    def layers(self) -> Config:
        return replace(self.target, n_layer=self.n_layer, n_head=self.n_head, n_head_kv=self.n_head_kv, n_ff=self.n_ff)


class Drafter(nn.Module):
    def __init__(self, config: DrafterConfig):
        super().__init__()
        self.config, c = config, config.layers
        self.dflash_fc = nn.Linear(len(config.target_layers) * c.n_embd, c.n_embd, bias=False)
        self.dflash_hidden_norm = RmsNorm(c.n_embd, c.norm_eps)
        self.blk = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.output_norm = RmsNorm(c.n_embd, c.norm_eps)
        cos, sin = rope_table(c, c.n_ctx + config.n_block)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                small = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, std=0.02 * ((2 * c.n_layer) ** -0.5 if small else 1))

    def angles(self, positions):
        """cos and sin, (batch, 1, n, head_dim / 2), of positions (batch, n)."""
        return self.cos[positions][:, None], self.sin[positions][:, None]

    def context(self, features, positions):
        """(keys, values) of each layer, (batch, n_head_kv, n, head_dim); features: (batch, n, layers read * n_embd)."""
        h = self.dflash_hidden_norm(self.dflash_fc(features))
        n_batch, n, _ = h.shape
        heads = lambda y: y.view(n_batch, n, -1, self.config.layers.head_dim).transpose(1, 2)
        angles = self.angles(positions)
        return [(rope(block.attn_k_norm(heads(block.attn_k(h))), *angles), heads(block.attn_v(h)))
                for block in self.blk]

    def hidden(self, x, positions, context, attend):
        """States (batch, n, n_embd) ready for the target's head; x: embeddings of the blocks' tokens.

        attend(q, k, v) sees the context's keys first and then those of the n block tokens.
        """
        angles = self.angles(positions)
        for block, (keys, values) in zip(self.blk, context):
            both = lambda earlier, own: torch.cat([earlier.to(own.dtype), own], dim=2)
            x = block(x, *angles, lambda q, k, v: attend(q, both(keys, k), both(values, v)))
        return self.output_norm(x)


def target_states(target, ids, attend, layers, positions=None):
    """(features, final): outputs of `layers` side by side (batch, n, layers * n_embd), and the normed last state.

    attend(layer) is the attend of that layer's Block; positions default to 0, 1, 2, ...
    """
    x, kept = target.token_embd(ids), {}
    cos, sin = target.cos[:ids.shape[1]], target.sin[:ids.shape[1]]
    if positions is not None:
        cos, sin = target.cos[positions][:, None], target.sin[positions][:, None]
    for n, block in enumerate(target.blk):
        x = block(x, cos, sin, attend(n))
        kept[n] = x
    return torch.cat([kept[n] for n in layers], dim=-1), target.output_norm(x)


def count_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())
