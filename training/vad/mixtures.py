"""Recordings to train and score the voice detector on: utterances with gaps, in rooms, in noises, or no speech at all.

Everything is made on the device in batches; speech comes from a corpus of training/speech.
"""

from dataclasses import dataclass
from pathlib import Path
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "speech"))
from augment import SEEN_NOISES, UNSEEN_NOISES, Noise, coloured, convolve, rooms, telephone
from corpus import Corpus
from model import WINDOW

LABEL_STEP = 160            # samples of one label of the corpus, 10 ms
THRESHOLD_DB = -38.0        # below the utterance's loudest moment: no voice, only the synthesizer's silence
BABBLE_DB = 5.0             # least distance of other people's voices in training
LONGEST_STOP = 12           # labels: a shorter hole in speech is part of it, as the silence of a "t" is


@dataclass
class Options:
    seconds: float = 8.0
    snr_db: tuple = (-8.0, 35.0)
    noises: tuple = SEEN_NOISES             # kinds of augment.Noise
    without_speech: float = 0.3             # share of recordings
    without_noise: float = 0.15
    in_room: float = 0.5
    on_telephone: float = 0.05
    level_db: tuple = (-40.0, 0.0)          # of the loudest sample


@dataclass
class Mixture:
    audio: torch.Tensor       # (batch, samples)
    speech: torch.Tensor      # (batch, samples / LABEL_STEP) bool
    windows: torch.Tensor     # (batch, windows): share of each window that is speech
    snr_db: torch.Tensor      # (batch): not a number where there is no speech or no noise
    kind: list                # name of the noise of each, "" for none


def activity(audio, starts):
    """bool (samples / LABEL_STEP): where the utterances of a corpus, beginning at `starts`, have voice."""
    frames = audio[:len(audio) // LABEL_STEP * LABEL_STEP].view(-1, LABEL_STEP)
    energy = torch.cat([part.float().square().mean(1) for part in frames.split(1 << 20)])
    energy = F.avg_pool1d(energy[None, None], 3, 1, 1)[0, 0]
    owner = torch.zeros(len(energy), dtype=torch.long, device=audio.device)
    owner[starts[1:] // LABEL_STEP] = 1
    owner = owner.cumsum(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                          # older PyTorch calls scatter_reduce a beta
        loudest = torch.zeros(len(starts), device=audio.device).scatter_reduce(0, owner, energy, "amax")
    active = (energy > loudest[owner] * 10 ** (THRESHOLD_DB / 10)).float()[None, None]
    reach = LONGEST_STOP // 2                                    # dilation, then erosion
    wide = F.max_pool1d(active, 2 * reach + 1, 1, reach)
    return -F.max_pool1d(-wide, 2 * reach + 1, 1, reach)[0, 0] > 0.5


class Mixer:
    def __init__(self, folder, device, seed, options=Options()):
        corpus = Corpus(folder)
        self.device, self.options = torch.device(device), options
        self.audio = torch.from_numpy(np.array(corpus.audio(16))).to(device)
        self.starts = torch.from_numpy(corpus.start16).to(device)
        self.counts = torch.from_numpy(corpus.n16).to(device)
        self.active = activity(self.audio, self.starts)
        self.random = torch.Generator(device=device).manual_seed(seed)
        self.noise = Noise(16000, self.random, self.audio)

    def uniform(self, shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(shape, generator=self.random, device=self.device)

    def lay_out(self, n_batch, n_samples):
        """Utterances one after another with gaps: audio (batch, samples) and labels (batch, samples / LABEL_STEP)."""
        at = torch.arange(n_samples, device=self.device)
        label_at = at[::LABEL_STEP]
        audio = torch.zeros(n_batch, n_samples, device=self.device)
        labels = torch.zeros(n_batch, len(label_at), dtype=torch.bool, device=self.device)
        # Some recordings begin in the middle of speech.
        begin = self.uniform((n_batch, 1), -32000, 32000)
        for _ in range(4):
            pick = torch.randint(len(self.starts), (n_batch, 1), generator=self.random, device=self.device)
            first, count = self.starts[pick], self.counts[pick]
            speed = self.uniform((n_batch, 1), 0.9, 1.1)
            gain = 10 ** (self.uniform((n_batch, 1), -6, 6) / 20)
            place = (at - begin) * speed                        # in the utterance
            inside = (place >= 0) & (place < count - 1)
            whole = place.floor().clamp(min=0).long()
            index = first + torch.where(inside, whole, torch.zeros_like(whole))
            low, high = self.audio[index].float(), self.audio[index + 1].float()
            audio += torch.where(inside, (low + (high - low) * (place - place.floor())) * gain / 32768, torch.zeros_like(audio))
            label_place = ((label_at + LABEL_STEP // 2 - begin) * speed).floor().long()
            label_inside = (label_place >= 0) & (label_place < count)
            label_index = (first + torch.where(label_inside, label_place, torch.zeros_like(label_place))) // LABEL_STEP
            labels |= self.active[label_index] & label_inside
            # Mostly short gaps, sometimes seconds.
            begin = begin + count / speed + 16000 * self.uniform((n_batch, 1)) ** 3 * 3
        return audio, labels

    def mix(self, n_batch):
        o = self.options
        n_samples = round(o.seconds * 16000) // (WINDOW * 5) * (WINDOW * 5)    # whole windows and labels
        speech, labels = self.lay_out(n_batch, n_samples)
        which = torch.randint(len(o.noises), (n_batch,), generator=self.random, device=self.device)
        is_babble = (which == o.noises.index("babble") if "babble" in o.noises else which < 0)[:, None]
        # Several people alone are speech to some and noise to others; they only stand behind a louder one.
        silent = (self.uniform((n_batch, 1)) < o.without_speech) & ~(is_babble & (o.without_speech < 1))
        speech, labels = speech.masked_fill(silent, 0), labels & ~silent
        share = labels.float().mean(1, keepdim=True)
        power = speech.square().mean(1, keepdim=True) / share.clamp(min=1e-3)
        in_room = self.uniform((n_batch, 1)) < o.in_room
        speech = torch.where(in_room, convolve(speech, rooms(self.noise, n_batch)), speech)

        sound = torch.zeros_like(speech)
        for i, kind in enumerate(o.noises):
            rows = (which == i).nonzero()[:, 0]
            if len(rows):
                sound[rows] = self.noise.draw(kind, len(rows), n_samples)
        clean = (self.uniform((n_batch, 1)) < o.without_noise) & ~silent
        snr = self.uniform((n_batch, 1), *o.snr_db)
        if o.snr_db[0] < o.snr_db[1]:
            snr = torch.where(is_babble, snr.clamp(min=BABBLE_DB), snr)
        power = torch.where(silent | (share == 0), torch.ones_like(power), power)
        audio = speech + (sound * power.sqrt() * 10 ** (-snr / 20)).masked_fill(clean, 0)
        audio = coloured(audio, self.noise)
        audio = torch.where(self.uniform((n_batch, 1)) < o.on_telephone, telephone(audio, 16000), audio)

        level = 10 ** (self.uniform((n_batch, 1), *o.level_db) / 20)
        audio = audio / audio.abs().amax(1, keepdim=True).clamp(min=1e-6) * level
        audio = (audio * 32768).round().clamp(-32768, 32767) / 32768            # as a sound card gives it
        windows = F.avg_pool1d(labels.float().repeat_interleave(5, 1)[:, None], 16)[:, 0]   # in steps of 32 samples
        has_snr = ~(silent | clean | (share == 0))
        snr = torch.where(has_snr, snr, torch.full_like(snr, float("nan")))[:, 0]
        is_clean = clean[:, 0].tolist()
        return Mixture(audio, labels, windows, snr, ["" if c else o.noises[i] for i, c in zip(which.tolist(), is_clean)])
