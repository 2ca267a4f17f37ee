"""Where utterances can be cut between words, found by the half-trained model itself.

A stream's preview hears sentences that are not over. The auxiliary characters say when each word ends; where they spell
an utterance rightly, its beginnings become examples of their own.
"""

from dataclasses import dataclass

import numpy as np
import torch

from data import compose, ctc_symbols
import mel
from network import CTC_PER_TOKEN, Layout
from plan import gather_clips, plan
from score import batches_of
from spoken_form import spoken

SAMPLES_PER_TOKEN = 8 * mel.HOP
SPACE = 1


@dataclass
class Cut:
    earliest: int           # sample at which the last word of the text is over
    latest: int             # sample in the middle of the next word
    text: str
    symbols: list


def places_of(path):
    """Symbols of a CTC path and the indices at which each begins."""
    begins = np.flatnonzero((path != 0) & (np.concatenate([[0], path[:-1]]) != path))
    return path[begins].tolist(), begins


def time_of(index):
    """Sample of a place in the path; a chunk of 13 tokens lasts 100 frames."""
    token = index / CTC_PER_TOKEN
    return int((token // 13) * 100 * mel.HOP + (token % 13) * SAMPLES_PER_TOKEN)


def cuts_of(text, begins, symbols):
    """All cuts behind whole words of the written text but the last."""
    gaps = [k for k, symbol in enumerate(symbols) if symbol == SPACE] + [len(symbols)]
    words, all_spoken, cuts = text.split(), spoken(text).split(), []
    for n in range(1, len(words)):
        beginning = " ".join(words[:n])
        said = spoken(beginning).split()
        if not said or len(said) >= len(all_spoken) or said != all_spoken[:len(said)]:
            continue
        end, next_end = gaps[len(said) - 1], gaps[len(said)]
        over = time_of(begins[end - 1]) + SAMPLES_PER_TOKEN
        latest = max(over + mel.HOP, (over + time_of(begins[next_end - 1])) // 2)
        cuts.append(Cut(over, latest, beginning.rstrip(".,?!"), ctc_symbols(beginning)))
    return cuts


@torch.no_grad()
def find_cuts(model, front_end, source, device, rng, most=12_000, seconds=1200):
    """{utterance: cuts} for those of up to `most` utterances that the auxiliary characters spell rightly."""
    model.eval()
    found = {}
    for batch in batches_of(rng.permutation(len(source))[:most].tolist(), source.n, seconds):
        clips = gather_clips([plan(source, rng, [k], is_plain=True) for k in batch], [False] * len(batch))
        audio, lengths = compose(source, clips, device)
        layout = Layout(mel.n_frames(clips.length)).on(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            h, *_ = model.encoder(front_end(audio, lengths), layout)
            paths = model.ctc_log_probabilities(h, layout).argmax(-1).t().cpu().numpy()      # (clip, place)
        for k, path, n in zip(batch, paths, layout.n_tokens):
            symbols, begins = places_of(path[:int(n) * CTC_PER_TOKEN])
            if symbols == source.symbols_of(k):
                cuts = cuts_of(source.text[k], begins, symbols)
                if cuts:
                    found[k] = cuts
    return found


class CutSource:
    """One cut of every utterance that has any, as a source to score."""

    def __init__(self, source, cuts):
        rng = np.random.default_rng(0)
        chosen = {k: options[rng.integers(len(options))] for k, options in cuts.items()}
        keys = sorted(chosen)
        self.audio, self.start = source.audio, source.start[keys]
        ends = [rng.integers(chosen[k].earliest, chosen[k].latest + 1) for k in keys]
        self.n = np.minimum(source.n[keys], np.array(ends, np.int64))
        self.text, self.cuts = [chosen[k].text for k in keys], {}

    def __len__(self):
        return len(self.text)

    def symbols_of(self, utterance):
        return ctc_symbols(self.text[utterance])
