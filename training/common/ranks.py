"""One process for each GPU, started by torchrun: the same weights everywhere, gradients averaged in one message."""

import os

import torch
import torch.distributed as dist


class Ranks:
    """A single process where torchrun's variables are not set."""

    def __init__(self, device):
        self.rank, self.n = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.device = torch.device(device)
        if self.device.type == "cuda":
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))

    def start(self):
        """To be called when no more processes are forked."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        if self.n > 1:
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    @property
    def is_first(self):
        return self.rank == 0

    def average_gradients(self, parameters):
        """A gradient that is not finite counts as none, so that all processes keep the same weights."""
        if self.n == 1:
            return
        flat = torch.cat([torch.zeros_like(p).reshape(-1) if p.grad is None else p.grad.reshape(-1) for p in parameters])
        dist.all_reduce(flat)
        torch.nan_to_num_(flat, 0.0, 0.0, 0.0).div_(self.n)
        for p, part in zip(parameters, flat.split([p.numel() for p in parameters])):
            p.grad = torch.empty_like(p).copy_(part.view_as(p))     # in the parameter's own memory format

    def share(self, numbers):
        """The first process' list of numbers."""
        if self.n == 1:
            return numbers
        message = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.broadcast(message, 0)
        return message.tolist()

    def end(self):
        """Afterwards every process is alone."""
        if self.n > 1:
            dist.barrier()
            dist.destroy_process_group()


class Clock:
    """How far the run is: by the first process' time, which several ask for every 20 steps, so that they agree."""

    def __init__(self, ranks, seconds_spent, max_seconds, now):
        self.ranks, self.max_seconds, self.now = ranks, max_seconds, now
        self.spent, self.start, self.is_over = seconds_spent, now(), False
        self.n_step, self.at, self.a_step = 0, seconds_spent / max_seconds, 0.0
        self.every = 20 if ranks.n > 1 else 1

    def seconds(self):
        return self.spent + self.now() - self.start

    def progress(self, call_is_over):
        """To be called once a step; 0..1. is_over becomes true in all processes at the same step."""
        if self.n_step % self.every == 0:
            at, is_over = self.ranks.share([self.seconds() / self.max_seconds, float(call_is_over)])
            if self.n_step >= 2 * self.every:       # the first steps are compiled
                self.a_step = (at - self.at) / self.every
            self.at, self.is_over = at, bool(is_over) or at >= 1
        self.n_step += 1
        return min(1.0, self.at + self.a_step * ((self.n_step - 1) % self.every))
