"""Processes that plan batches ahead, so that the one which drives the device hardly waits for Python."""

from dataclasses import dataclass
import multiprocessing as mp
import pickle
import queue
import threading

import numpy as np

from data import Prompt, Texts, phone_labels, sequences
import mel
from network import Layout, to_device
from plan import Clips, stream
from tokenizer import Tokenizer

READY = 6                   # batches that wait for the device


@dataclass
class Batch:
    clips: Clips                # without its texts and symbols
    layout: Layout
    silent: list                # clips in which nobody speaks
    ids: np.ndarray             # of sequences()
    audio_at: np.ndarray
    places: np.ndarray
    targets: np.ndarray
    symbols: np.ndarray         # of all clips, one after the other
    n_symbols: tuple
    phones: np.ndarray          # of phone_labels(), or None

    def on(self, device):
        """Moves what the losses read; the clips stay."""
        self.layout.on(device)
        for name in ("ids", "audio_at", "places", "targets", "symbols"):
            setattr(self, name, to_device(getattr(self, name), device))
        if self.phones is not None:
            self.phones = to_device(self.phones.astype(np.int64), device)
        return self


def prepare(source, prompt, clips, window_chunks, rng, noise):
    layout = Layout(mel.n_frames(clips.length), window_chunks)
    arrays = sequences(prompt, clips, layout.n_tokens, rng, noise)
    silent = [k for k, text in enumerate(clips.text) if text is None]
    n_symbols = tuple(len(symbols) for symbols in clips.symbols)
    symbols = np.concatenate([np.array(symbols, np.int64) for symbols in clips.symbols])
    phones = None if source.phones is None else phone_labels(source, clips, layout)
    clips.text, clips.symbols = [], []
    return Batch(clips, layout, silent, *arrays, symbols, n_symbols, phones)


def work(source: Texts, seed, options, orders, ready):
    """One process: plans batches until it is ended; new cuts come through `orders`."""
    rng, prompt = np.random.default_rng(seed), Prompt(Tokenizer())
    for clips in stream(source, rng, options.seconds, options.plain):
        while orders.poll():
            source.cuts.update(orders.recv())
        window = 8 if options.plain or rng.random() < 0.7 else int(rng.choice([1, 2, 2, 4]))
        ready.put(prepare(source, prompt, clips, window, rng, 0.0 if options.plain else options.token_noise))


class Feed:
    """Batches without end, from options.planners processes; made before the device is used."""

    def __init__(self, source, options, seed):
        """seed: a tuple of integers."""
        context = mp.get_context("fork")
        self.ready, self.orders, self.workers, self.sender = context.Queue(READY), [], [], None
        for n in range(options.planners):
            theirs, ours = context.Pipe(duplex=False)
            self.orders.append(ours)
            worker = context.Process(target=work, args=(source, (*seed, n), options, theirs, self.ready), daemon=True)
            worker.start()
            theirs.close()
            self.workers.append(worker)

    def __iter__(self):
        while True:
            try:
                yield self.ready.get(timeout=20)
            except queue.Empty:
                if not all(worker.is_alive() for worker in self.workers):
                    raise RuntimeError("a process that plans batches has ended") from None

    def add_cuts(self, cuts):
        """In a thread: a process that waits until a batch is taken reads nothing until then."""
        message = pickle.dumps(cuts)

        def send():
            try:
                for orders in self.orders:
                    orders.send_bytes(message)
            except OSError:
                pass                            # closed meanwhile

        if self.sender is None or not self.sender.is_alive():
            self.sender = threading.Thread(target=send, daemon=True)
            self.sender.start()

    def close(self):
        for worker in self.workers:
            worker.terminate()
