"""The speech model in PyTorch: a bidirectional Qwen3 over text tokens and frames of codes (omnivoice-lm).

Parameters are named as in the GGUF file; (out, in) matrices, shapes in the comments.
"""

from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

import paths  # noqa: F401
from model import RmsNorm, attention_reference, rope

N_CODEBOOK = 8
CODEBOOK_WEIGHTS = [12, 10, 7, 6, 4, 3, 2, 2]
PHONES = 64                           # symbols that the phone head can tell, at most
MIDDLE = 0.6                          # of the layers are below the phone head
QUARTERS = 4                          # of a frame, each with its phone
PHONE_HEAD = "phone_"                 # begin of the names of what only training needs


@dataclass(frozen=True)
class Config:
    n_text_vocab: int
    n_audio_vocab: int                # codes of one codebook and the mask, which is the last
    n_embd: int = 160
    n_layer: int = 7
    n_head: int = 3
    head_dim: int = 64
    n_ff: int = 416
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-6

    @property
    def mask(self):
        return self.n_audio_vocab - 1


# Codes of a codebook -> sizes whose Q8_0 file is below 5.5 MB; the tables of codes take most of it where there are many.
SIZES = {1024: {"n_embd": 160, "n_layer": 7, "n_ff": 416}, 512: {"n_embd": 192, "n_layer": 9, "n_ff": 384},
         256: {"n_embd": 224, "n_layer": 7, "n_head": 4, "n_ff": 512}}


def config_for(n_codes, n_text_vocab, **chosen):
    """chosen: sizes that are not None take the place of those of SIZES."""
    sizes = SIZES.get(n_codes, {}) | {name: size for name, size in chosen.items() if size}
    return Config(n_text_vocab=n_text_vocab, n_audio_vocab=n_codes + 1, **sizes)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.head_dim = c.head_dim
        n_all = c.n_head * c.head_dim
        self.q_proj = nn.Linear(c.n_embd, n_all, bias=False)
        self.k_proj = nn.Linear(c.n_embd, n_all, bias=False)
        self.v_proj = nn.Linear(c.n_embd, n_all, bias=False)
        self.o_proj = nn.Linear(n_all, c.n_embd, bias=False)
        self.q_norm = RmsNorm(c.head_dim, c.norm_eps)
        self.k_norm = RmsNorm(c.head_dim, c.norm_eps)

    def forward(self, x, cos, sin, attend):
        heads = lambda y: y.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)    # (batch, head, position, head_dim)
        v = heads(self.v_proj(x))
        q = rope(self.q_norm(heads(self.q_proj(x))), cos, sin).to(v.dtype)
        k = rope(self.k_norm(heads(self.k_proj(x))), cos, sin).to(v.dtype)
        return self.o_proj(attend(q, k, v).transpose(1, 2).reshape(*x.shape[:2], -1))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c.n_embd, c.n_ff, bias=False)
        self.up_proj = nn.Linear(c.n_embd, c.n_ff, bias=False)
        self.down_proj = nn.Linear(c.n_ff, c.n_embd, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c, dropout):
        super().__init__()
        self.dropout = dropout
        self.input_layernorm = RmsNorm(c.n_embd, c.norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RmsNorm(c.n_embd, c.norm_eps)
        self.mlp = Mlp(c)

    def forward(self, x, cos, sin, attend):
        kept = lambda y: F.dropout(y, self.dropout, self.training) if self.dropout else y
        x = x + kept(self.self_attn(self.input_layernorm(x), cos, sin, attend))
        return x + kept(self.mlp(self.post_attention_layernorm(x)))


class Trunk(nn.Module):
    def __init__(self, c, dropout):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.n_text_vocab, c.n_embd)
        self.layers = nn.ModuleList(Layer(c, dropout) for _ in range(c.n_layer))
        self.norm = RmsNorm(c.n_embd, c.norm_eps)


class SpeechLm(nn.Module):
    def __init__(self, config, dropout=0.0):
        super().__init__()
        self.config = c = config
        self.llm = Trunk(c, dropout)
        self.audio_embeddings = nn.Embedding(N_CODEBOOK * c.n_audio_vocab, c.n_embd)
        self.audio_heads = nn.Linear(c.n_embd, N_CODEBOOK * c.n_audio_vocab, bias=False)
        self.phone_norm = RmsNorm(c.n_embd, c.norm_eps)
        self.phone_head = nn.Linear(c.n_embd, QUARTERS * PHONES, bias=False)
        self.register_buffer("first_row", torch.arange(N_CODEBOOK) * c.n_audio_vocab, persistent=False)
        pair = torch.arange(0, c.head_dim, 2, dtype=torch.float64)
        self.register_buffer("inverse", (c.rope_theta ** (-pair / c.head_dim)).float(), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                small = name.endswith(("o_proj.weight", "down_proj.weight"))
                std = 0.1 if "embed" in name else 0.02 * ((2 * c.n_layer) ** -0.5 if small else 1)
                nn.init.normal_(parameter, std=std)

    @property
    def blk(self):
        """What Muon trains the matrices of."""
        return self.llm.layers

    def embedded(self, text, codes, is_text, pos):
        """(batch, n, n_embd) below the first layer, and cosines and sines of the positions' angles."""
        audio = self.audio_embeddings(codes + self.first_row).sum(2)
        angle = pos[:, None, :, None].float() * self.inverse    # (batch, 1, n, head_dim / 2)
        return torch.where(is_text[..., None], self.llm.embed_tokens(text), audio), angle.cos(), angle.sin()

    def states(self, text, codes, is_text, pos, attend):
        """(batch, n, n_embd) of the last layer, normalised, and of that below the phone head.

        text, is_text, pos: (batch, n); codes: (batch, n, 8). Where is_text, the codes are ignored, elsewhere the text.
        """
        x, cos, sin = self.embedded(text, codes, is_text, pos)
        x, middle = self.through_layers(x, lambda layer, x: layer(x, cos, sin, attend))
        return self.llm.norm(x), middle

    def through_layers(self, x, run):
        """The states of the last layer and of that below the phone head; run(layer, states)."""
        middle = x
        for n, layer in enumerate(self.llm.layers):
            x = run(layer, x)
            if n + 1 == round(MIDDLE * len(self.llm.layers)):
                middle = x
        return x, middle

    def hidden(self, *inputs):
        return self.states(*inputs)[0]

    def phone_logits(self, middle):
        """(m, n_embd) -> (m, 4, PHONES): what is said in each quarter of the frames."""
        return self.phone_head(self.phone_norm(middle)).view(len(middle), -1, PHONES)

    def logits(self, hidden):
        """(…, n_embd) -> (…, 8, n_audio_vocab)"""
        return self.audio_heads(hidden).view(*hidden.shape[:-1], N_CODEBOOK, self.config.n_audio_vocab)


def masked_attention(mask):
    """attend(q, k, v) where mask (batch, 1, n, n) is True; every query has to see something."""
    def attend(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attention_reference(q, k, v, mask)
    return attend


def same_document(documents):
    """(batch, n) numbers -> mask (batch, 1, n, n) of the pairs of positions in one document."""
    return (documents[:, :, None] == documents[:, None, :])[:, None]
