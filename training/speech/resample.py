"""Sound at another rate."""

import functools
import math

import numpy as np

HALF_WIDTH = 10         # of the filter, in samples of the lower rate
KAISER_BETA = 5.0


@functools.lru_cache(None)
def _low_pass(up: int, down: int) -> np.ndarray:
    """A windowed sinc at `up` times the first rate, (taps,); its middle is tap HALF_WIDTH * max(up, down)."""
    widest = max(up, down)
    at = np.arange(-HALF_WIDTH * widest, HALF_WIDTH * widest + 1)
    taps = np.sinc(at / widest) * np.kaiser(len(at), KAISER_BETA)
    return taps * up / taps.sum()


def resample(x: np.ndarray, rate: int, to: int) -> np.ndarray:
    """float32 samples (n,) at `rate` -> (ceil(n * to / rate),) at `to`, by a polyphase filter that delays nothing."""
    if rate == to:
        return x
    divisor = math.gcd(rate, to)
    up, down = to // divisor, rate // divisor
    taps, n_out = _low_pass(up, down), -(-len(x) * up // down)
    middle = len(taps) // 2
    reach = middle // up + 1                            # samples on either side of one
    places = np.arange(-reach, reach + 1)
    padded = np.pad(np.asarray(x, np.float32), (reach, reach + down + 1))
    out = np.empty(n_out, np.float32)
    for phase in range(min(up, n_out)):                 # outputs phase, phase + up, ... see the same taps
        first, shift = divmod(phase * down, up)
        index = middle + shift - places * up
        inside = (index >= 0) & (index < len(taps))
        weights = np.where(inside, taps[np.clip(index, 0, len(taps) - 1)], 0).astype(np.float32)
        part = out[phase::up]
        windows = np.lib.stride_tricks.sliding_window_view(padded, len(places))[first::down][:len(part)]
        part[:] = np.einsum("ij,j->i", windows, weights)
    return out
