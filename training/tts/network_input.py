"""From batches of data.py to what the network reads, on its device: codes gathered, slots masked at random."""

from dataclasses import dataclass

import torch

from data import TARGET, TEXT
from speech_lm import N_CODEBOOK

UNKNOWN_BELOW = 0.5     # weight of a slot for each coarser codebook of its frame that is masked, too


@dataclass
class Input:
    text: torch.Tensor          # (rows, n)
    codes: torch.Tensor         # (rows, n, 8), masked where undecided
    is_text: torch.Tensor       # (rows, n)
    pos: torch.Tensor           # (rows, n)
    document: torch.Tensor      # (rows, n)
    targets: torch.Tensor       # (m,) places of target frames in the flattened rows
    labels: torch.Tensor        # (m, 8)
    weights: torch.Tensor       # (m, 8), 0 for slots that are known


class Batches:
    def __init__(self, speech, config, device):
        self.device, self.mask = device, config.mask
        self.text = torch.from_numpy(speech.text_tokens()).to(device)
        self.codes = torch.from_numpy(speech.codes.T.astype("int16").copy()).to(device)     # (frames, 8)

    def masked(self, batch, codebook_weights):
        place = lambda x: torch.from_numpy(x).to(self.device, non_blocking=True)
        kind, source = place(batch["kind"]), place(batch["source"]).long()
        document, known = place(batch["document"]).long(), place(batch["known"])
        is_text = kind <= TEXT                      # padding reads as the token 0
        text = self.text[torch.where(kind == TEXT, source, 0 * source)].long()
        codes = self.codes[torch.where(is_text, 0 * source, source)].long()
        is_masked = (torch.rand(codes.shape, device=self.device) >= known[document]) & (kind == TARGET)[..., None]
        # What a fine codebook refines is not known yet where coarser ones are masked: little can be learnt there.
        n_coarser = (is_masked.cumsum(-1) - is_masked.long()).float()
        slot_weights = is_masked * codebook_weights * UNKNOWN_BELOW ** n_coarser
        targets = place(batch["targets"]).long()
        is_real = torch.arange(len(targets), device=self.device) < batch["n_targets"]
        labels = codes.view(-1, N_CODEBOOK)[targets]
        weights = slot_weights.view(-1, N_CODEBOOK)[targets] * is_real[:, None]
        pos, codes = place(batch["pos"]).long(), codes.masked_fill(is_masked, self.mask)
        return Input(text, codes, is_text, pos, document, targets, labels, weights)
