"""Batches on their way to the device: drawn by processes into memory that they share, put into pinned memory by a thread.

A batch crosses as one stretch of bytes: the thread that trains rarely lets others run, which would make each of many small
copies wait.
"""

import multiprocessing
import queue
import sys
import threading

import numpy as np
import torch

N_READY = 6
SWITCH_S = 5e-4             # after which the thread that trains lets the other one run
ROOM, ALIGN = 1.3, 16       # of a slot over the first batch; of arrays in it


def places_of(batch):
    """[(name, type, shape, first byte)] of the arrays, and how many bytes they take."""
    places, n = [], 0
    for name, x in batch.items():
        if not isinstance(x, int):
            places.append((name, x.dtype.str, x.shape, n))
            n += -(-x.nbytes // ALIGN) * ALIGN
    return places, n


class SharedBatches:
    """Endless batches as (bytes, places, numbers), drawn by processes that are forked when this is made."""

    def __init__(self, sampler_of, n_workers):
        _, n = places_of(sampler_of(n_workers).batch())
        context = multiprocessing.get_context("fork")
        self.ready, self.free = context.Queue(), context.Queue()
        self.slots = torch.empty(4 * n_workers, int(ROOM * n), dtype=torch.uint8).share_memory_()
        for slot in range(len(self.slots)):
            self.free.put(slot)
        for worker in range(n_workers):
            context.Process(target=self.draw, args=(sampler_of, worker), daemon=True).start()

    def draw(self, sampler_of, worker):
        try:
            sampler = sampler_of(worker)
            while True:
                batch = sampler.batch()
                places, n = places_of(batch)
                if n > self.slots.shape[1]:
                    continue
                slot = self.free.get()
                memory = self.slots[slot].numpy()
                for name, kind, shape, first in places:
                    memory[first:first + batch[name].nbytes].view(kind).reshape(shape)[...] = batch[name]
                self.ready.put((slot, n, places, {name: x for name, x in batch.items() if isinstance(x, int)}))
        except Exception as error:
            self.ready.put(error)
            raise

    def __iter__(self):
        while True:
            message = self.ready.get()
            if isinstance(message, Exception):
                raise message
            slot, n, places, numbers = message
            batch = torch.empty(n, dtype=torch.uint8, pin_memory=torch.cuda.is_available()).copy_(self.slots[slot, :n])
            self.free.put(slot)
            yield batch, places, numbers


def drawn(sampler_of, n_workers):
    """What placed() takes."""
    if n_workers == 0:
        sampler = sampler_of(0)
        return iter(sampler.batch, None)
    return SharedBatches(sampler_of, n_workers)


def tensors_of(memory, places, numbers):
    kinds = {"|i1": torch.int8, "<i2": torch.int16, "<i4": torch.int32, "<f4": torch.float32}
    out = dict(numbers)
    for name, kind, shape, first in places:
        n = int(np.prod(shape)) * np.dtype(kind).itemsize
        out[name] = memory[first:first + n].view(kinds[kind]).view(shape)
    return out


def placed(batches, device):
    """The batches with their arrays on the device; a GPU is never waited for."""
    if not isinstance(batches, SharedBatches):
        yield from batches
        return
    ready = queue.Queue(maxsize=N_READY)

    def read():
        try:
            if device.type == "cuda":
                torch.cuda.set_device(device)
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            ready.put(error)

    sys.setswitchinterval(SWITCH_S)
    threading.Thread(target=read, daemon=True).start()
    while True:
        batch = ready.get()
        if isinstance(batch, Exception):
            raise batch
        memory, places, numbers = batch
        yield tensors_of(memory.to(device, non_blocking=True), places, numbers)
