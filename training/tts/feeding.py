"""Batches on their way to the device: drawn by processes, kept ready in pinned memory by a thread."""

import multiprocessing
import queue
import threading

import torch

N_READY = 6


def drawn(sampler_of, n_workers):
    """Endless batches, drawn by processes of their own, which are forked by this call."""
    if n_workers == 0:
        sampler = sampler_of(0)
        return iter(sampler.batch, None)
    context = multiprocessing.get_context("fork")
    ready = context.Queue(maxsize=4 * n_workers)

    def draw(worker):
        try:
            sampler = sampler_of(worker)
            while True:
                ready.put(sampler.batch())
        except Exception as error:
            ready.put(error)
            raise

    for worker in range(n_workers):
        context.Process(target=draw, args=(worker,), daemon=True).start()
    return checked(iter(ready.get, None))


def checked(batches):
    for batch in batches:
        if isinstance(batch, Exception):
            raise batch
        yield batch


def placed(batches, device):
    """The batches with their arrays on the device; a GPU is never waited for."""
    if device.type != "cuda":
        yield from batches
        return
    ready = queue.Queue(maxsize=N_READY)

    def pin():
        try:
            torch.cuda.set_device(device)
            for batch in batches:
                ready.put({name: x if isinstance(x, int) else torch.from_numpy(x).pin_memory()
                           for name, x in batch.items()})
        except Exception as error:
            ready.put(error)

    threading.Thread(target=pin, daemon=True).start()
    for batch in checked(iter(ready.get, None)):
        yield {name: x if isinstance(x, int) else x.to(device, non_blocking=True) for name, x in batch.items()}
