"""Muon for the matrices inside the blocks, AdamW for the embedding and the norms.

Muon moves a matrix by its momentum with all singular values brought near one (five Newton-Schulz steps). Matrices of one
shape are stacked, so that a step takes few launches.
"""

from collections import defaultdict

import torch

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonalise(g, steps=5):
    """g: (n, rows, columns)."""
    a, b, c = NEWTON_SCHULZ
    x = g.bfloat16() if g.is_cuda else g        # a CPU takes seconds for products in bfloat16
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.transpose(1, 2)
        x = a * x + (b * square + c * square @ square) @ x
    return x.transpose(1, 2) if tall else x


class Muon:
    def __init__(self, parameters, lr=0.02, momentum=0.95, weight_decay=0.01):
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay
        groups = defaultdict(list)
        for parameter in parameters:
            groups[tuple(parameter.shape)].append(parameter)
        self.groups = [(group, torch.zeros(len(group), *shape, device=group[0].device)) for shape, group in groups.items()]

    @torch.no_grad()
    def step(self, scale):
        lr = self.lr * scale
        for group, buffer in self.groups:
            gradient = torch.stack([parameter.grad for parameter in group]).float()
            buffer.lerp_(gradient, 1 - self.momentum)
            update = orthogonalise(gradient.lerp(buffer, self.momentum)).float()
            rows, columns = buffer.shape[1:]
            update *= -lr * max(1, rows / columns) ** 0.5
            torch._foreach_mul_(group, 1 - lr * self.weight_decay)
            torch._foreach_add_(group, list(update.unbind(0)))


class Optimizer:
    """Both together; step(scale) multiplies both learning rates by the schedule's factor."""

    def __init__(self, model, muon_lr, adam_lr):
        inside = [p for p in model.blk.parameters() if p.dim() == 2]
        rest = [p for p in model.parameters() if not any(p is q for q in inside)]
        self.muon = Muon(inside, muon_lr)
        self.adam_lr = adam_lr
        self.adam = torch.optim.AdamW(rest, lr=adam_lr, betas=(0.9, 0.95), weight_decay=0.0,
                                      **({"fused": True} if rest[0].is_cuda else {}))
        self.parameters = inside + rest

    def step(self, scale):
        self.muon.step(scale)
        for group in self.adam.param_groups:
            group["lr"] = self.adam_lr * scale
        self.adam.step()
        for parameter in self.parameters:
            parameter.grad = None
