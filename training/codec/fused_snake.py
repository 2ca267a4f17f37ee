"""Snake for the GPU: one kernel forward and one backward, where PyTorch can compile them."""

import torch

from model import Snake, snake_reference as forward


def backward(gradient, x, alpha):
    """Gradients of x and, before they are summed, of alpha."""
    g, wide = gradient.float(), x.float()
    inverse = 1 / (alpha + 1e-9)
    sine, double = torch.sin(alpha * wide), torch.sin(2 * alpha * wide)
    of_alpha = g * inverse * (wide * double - sine.square() * inverse)
    return (g * (1 + double)).to(x.dtype), of_alpha.to(x.dtype)


def as_rows(x, alpha):
    """x and alpha as (batch * channels, places) and (batch * channels, 1), so that one kernel serves every width."""
    return x.contiguous().view(-1, x.shape[2]), alpha.expand(x.shape[0], -1, 1).reshape(-1, 1)


class FusedSnake(torch.autograd.Function):
    kernels = (forward, backward)

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        # Sounds to be scored come in many shapes, for which compiling does not pay.
        if not any(ctx.needs_input_grad):
            return forward(x, alpha)
        return FusedSnake.kernels[0](*as_rows(x, alpha)).view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        x, alpha = ctx.saved_tensors
        rows, alpha_of_rows = as_rows(x, alpha)
        of_x, of_alpha = FusedSnake.kernels[1](gradient.contiguous().view_as(rows), rows, alpha_of_rows)
        return of_x.view_as(x), of_alpha.view_as(x).sum((0, 2), keepdim=True, dtype=torch.float32)


def try_out(device):
    """Compares with the definition, in a recorded graph as training has them; raises where something is wrong."""
    for shape in ((4, 8, 1000), (4, 16, 500)):
        x = torch.randn(shape, device=device, dtype=torch.bfloat16)
        alpha = torch.rand(1, shape[1], 1, device=device) + 0.5

        def gradients(function):
            x_, alpha_ = x.clone().requires_grad_(), alpha.clone().requires_grad_()
            return torch.autograd.grad(function(x_, alpha_).float().square().sum(), (x_, alpha_))

        wanted, stream = gradients(forward), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                gradients(FusedSnake.apply)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = gradients(FusedSnake.apply)
        graph.replay()
        torch.cuda.synchronize()
        for g, w in zip(got, wanted):
            if not bool((g - w).float().norm() < 0.05 * w.float().norm()):
                raise ValueError("a compiled kernel is wrong")


def rely_on_none():
    FusedSnake.kernels = (forward, backward)


def install(device, may_compile):
    """Yields whether kernels are compiled; tries them on a small tensor before they are relied on."""
    Snake.function = staticmethod(FusedSnake.apply)
    if not may_compile or device.type != "cuda":
        return False
    try:
        FusedSnake.kernels = tuple(torch.compile(f, dynamic=True) for f in (forward, backward))
        try_out(device)
        return True
    except Exception as error:
        print(f"kernels are not compiled: {error}", flush=True)
        rely_on_none()
        torch.cuda.synchronize()
        return False
