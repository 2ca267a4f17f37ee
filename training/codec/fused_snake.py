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


def install(device, may_compile):
    """Yields whether kernels are compiled; tries them on a small tensor before they are relied on."""
    Snake.function = staticmethod(FusedSnake.apply)
    if not may_compile or device.type != "cuda":
        return False
    try:
        FusedSnake.kernels = tuple(torch.compile(f, dynamic=True) for f in (forward, backward))
        for shape in ((4, 8, 1000), (4, 16, 500)):
            x = torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True)
            alpha = torch.ones(1, shape[1], 1, device=device, requires_grad=True)
            FusedSnake.apply(x, alpha).float().sum().backward()
        torch.cuda.synchronize()
        return True
    except Exception as error:
        print(f"kernels are not compiled: {error}", flush=True)
        FusedSnake.kernels = (forward, backward)
        return False
