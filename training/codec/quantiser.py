"""Residual vector quantisation whose codebooks follow means of what they code (van den Oord et al., 2017).

Names of parameters are those of the GGUF file; the counts and sums behind the codebooks stay out of it.
"""

import torch
from torch import nn


class Codebook(nn.Module):
    def __init__(self, n_codes, dim):
        super().__init__()
        self.register_buffer("embed", torch.randn(n_codes, dim))

    def nearest(self, h):
        """h: (n, dim) -> (n,)."""
        return (2 * h @ self.embed.t() - self.embed.square().sum(1)).argmax(1)


class Level(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.codebook = Codebook(c.n_codes, c.codebook_dim)
        self.project_in = nn.Linear(c.n_latent, c.codebook_dim)
        self.project_out = nn.Linear(c.codebook_dim, c.n_latent)


class ResidualQuantiser(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.quantizers = nn.ModuleList(Level(c) for _ in range(c.n_codebook))

    def encode(self, r):
        """r: (n, n_latent) -> (n, n_codebook)."""
        codes = []
        for level in self.quantizers:
            codes.append(level.codebook.nearest(level.project_in(r)))
            r = r - level.project_out(level.codebook.embed[codes[-1]])
        return torch.stack(codes, 1)

    def decode(self, codes, n_levels=None):
        """codes: (n, n_codebook) -> (n, n_latent), of all levels or the first ones."""
        return sum(level.project_out(level.codebook.embed[codes[:, k]])
                   for k, level in enumerate(self.quantizers[:n_levels]))

    def forward(self, r, n_levels, learner=None):
        """r: (n, n_latent); n_levels: (n,) how many levels each frame has. Yields what decode() would give with gradients
        straight through, the same of the first level and the first two, and the commitment loss. A learner moves the
        codebooks."""
        total, outs, commitment = 0, [], 0
        for k, level in enumerate(self.quantizers):
            h = level.project_in(r)
            codes = level.codebook.nearest(h.detach())
            e = level.codebook.embed[codes]
            is_used = (n_levels > k).to(r.dtype)[:, None]
            commitment = commitment + (is_used * (h - e).square()).mean()
            out = level.project_out(h + (e - h).detach())
            r = r - out
            total = total + is_used * out
            if k < 2:
                outs.append(out)
            if learner is not None:
                learner.observe(k, h.detach(), codes)
        return total, outs[0], sum(outs), commitment


class CodebookLearner:
    """Moves codebooks to the running means of their vectors; codes that hardly occur start again at random vectors."""

    def __init__(self, quantiser, decay=0.99, least=0.1):
        self.embeds = [level.codebook.embed for level in quantiser.quantizers]
        self.counts = [torch.ones_like(e[:, 0]) for e in self.embeds]
        self.sums = [e.clone() for e in self.embeds]
        self.decay, self.least, self.may_restart = decay, least, True

    def state(self):
        return {"counts": self.counts, "sums": self.sums}

    def load(self, state):
        for name in ("counts", "sums"):
            for to, value in zip(getattr(self, name), state[name]):
                to.copy_(value)

    @torch.no_grad()
    def observe(self, k, h, codes):
        embed, counts, sums = self.embeds[k], self.counts[k], self.sums[k]
        here = torch.zeros_like(counts).index_add_(0, codes, torch.ones_like(h[:, 0]))
        counts.lerp_(here, 1 - self.decay)
        sums.lerp_(torch.zeros_like(sums).index_add_(0, codes, h), 1 - self.decay)
        if self.may_restart:
            is_dead = counts < self.least
            fresh = h[torch.randint(len(h), (len(counts),), device=h.device)]
            sums.copy_(torch.where(is_dead[:, None], fresh, sums))
            counts.copy_(torch.where(is_dead, torch.ones_like(counts), counts))
        embed.copy_(sums / counts.clamp_min(1e-6)[:, None])

    @torch.no_grad()
    def start(self, quantiser, r, rounds=10):
        """From vectors r: (n, n_latent): each level projects onto the principal directions of what is left over, and its
        codebook are the k-means of that."""
        for k, level in enumerate(quantiser.quantizers):
            mean = r.mean(0)
            directions = torch.linalg.eigh((r - mean).t().double() @ (r - mean).double())[1][:, -self.embeds[k].shape[1]:]
            directions = directions.float()                               # (n_latent, dim), orthonormal
            level.project_in.weight.copy_(directions.t())
            level.project_in.bias.copy_(-mean @ directions)
            level.project_out.weight.copy_(directions)
            level.project_out.bias.copy_(mean)
            h = level.project_in(r)
            embed = h[torch.randint(len(h), (len(self.counts[k]),), device=h.device)]
            embed = embed + 1e-3 * h.std() * torch.randn_like(embed)      # two of one vector part
            for _ in range(rounds):
                self.embeds[k].copy_(embed)
                codes = level.codebook.nearest(h)
                counts = torch.zeros_like(self.counts[k]).index_add_(0, codes, torch.ones_like(h[:, 0]))
                means = torch.zeros_like(embed).index_add_(0, codes, h) / counts.clamp_min(1)[:, None]
                embed = torch.where(counts[:, None] > 0, means, embed)
            self.embeds[k].copy_(embed)
            self.counts[k].fill_(1)
            self.sums[k].copy_(embed)
            r = r - level.project_out(embed[level.codebook.nearest(h)])
