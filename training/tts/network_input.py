"""From batches of data.py to what the network reads, on its device: codes gathered, slots masked at random."""

from dataclasses import dataclass

import torch

from data import NO_PHONE, TARGET, TEXT
from speech_lm import N_CODEBOOK

UNKNOWN_BELOW = 0.5     # weight of a slot for each coarser codebook of its frame that is masked, too
WITHOUT_ERRORS, MOST_ERRORS = 0.3, 0.2      # share of documents whose known codes are all right; of wrong ones, at most


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
    phones: torch.Tensor        # (m, 4), NO_PHONE where unknown


class Batches:
    def __init__(self, speech, config, device):
        self.device, self.mask = device, config.mask
        self.text = torch.from_numpy(speech.text_tokens()).to(device)
        self.codes = torch.from_numpy(speech.codes.T.astype("int16").copy()).to(device)     # (frames, 8)
        self.phones = torch.from_numpy(speech.phones).to(device)                            # (frames, 4)

    def with_errors(self, codes, source, document, n_documents):
        """Some codes replaced by those of a neighbouring frame or by any, as decoding errs: (rows, n, 8)."""
        random = lambda *shape: torch.rand(shape, device=self.device)
        rate = MOST_ERRORS * random(n_documents) * (random(n_documents) >= WITHOUT_ERRORS)
        side = 2 * (random(*source.shape) < 0.5) - 1
        neighbour = self.codes[(source + side).clamp(0, len(self.codes) - 1)].long()
        draw = random(*codes.shape) / rate[document].clamp(min=1e-9)[..., None]
        other = (random(*codes.shape) * self.mask).long()
        return torch.where(draw < 0.5, neighbour, torch.where(draw < 1, other, codes))

    def masked(self, batch, codebook_weights, has_errors=False):
        """batch: of Sampler.batch(), or the same on the device."""
        place = lambda x: (x if torch.is_tensor(x) else torch.from_numpy(x)).to(self.device, non_blocking=True)
        kind, source = place(batch["kind"]), place(batch["source"]).long()
        document, known = place(batch["document"]).long(), place(batch["known"])
        is_text = kind <= TEXT                      # padding reads as the token 0
        text = self.text[torch.where(kind == TEXT, source, 0 * source)].long()
        source = torch.where(is_text, 0 * source, source)
        codes = self.codes[source].long()
        is_target = (kind == TARGET)[..., None]
        pos, block = place(batch["pos"]).long(), place(batch["block"])[document]
        share = torch.where((pos < block[..., 0])[..., None], 1, known[document])
        share = torch.where((pos >= block[..., 1])[..., None], 0, share)
        is_masked = (torch.rand(codes.shape, device=self.device) >= share) & is_target
        # What a fine codebook refines is not known yet where coarser ones are masked: little can be learnt there.
        n_coarser = (is_masked.cumsum(-1) - is_masked.long()).float()
        slot_weights = is_masked * codebook_weights * UNKNOWN_BELOW ** n_coarser
        targets = place(batch["targets"]).long()
        is_real = (torch.arange(len(targets), device=self.device) < batch["n_targets"])[:, None]
        labels = codes.view(-1, N_CODEBOOK)[targets]
        weights = slot_weights.view(-1, N_CODEBOOK)[targets] * is_real
        phones = self.phones[source.view(-1)[targets]].long().masked_fill(~is_real, NO_PHONE)
        if has_errors:
            codes = torch.where(is_target, self.with_errors(codes, source, document, len(known)), codes)
        codes = codes.masked_fill(is_masked, self.mask)
        return Input(text, codes, is_text, pos, document, targets, labels, weights, phones)
