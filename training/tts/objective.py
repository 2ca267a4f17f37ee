"""What training minimises: losses of masked codes and of phones, with attention inside each document."""

import torch
import torch.nn.functional as F

from speech_lm import PHONES, masked_attention, same_document


DENSE, FLEX, ALL = range(3)     # what is compiled: nothing, attention alone, all of the network


class Attention:
    """Attention inside each document of packed rows: block-sparse and compiled, or with a dense mask."""

    def __init__(self, compiled):
        self.compiled = compiled
        if compiled:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            self.flex_attention = flex_attention if compiled == ALL else torch.compile(flex_attention, dynamic=False)
            self.create_block_mask = torch.compile(create_block_mask)

    def mask(self, documents):
        if not self.compiled:
            return same_document(documents)
        n_batch, n = documents.shape
        visible = lambda b, h, q, k: documents[b, q] == documents[b, k]
        return self.create_block_mask(visible, n_batch, None, n, n, device=documents.device)

    def attend(self, mask):
        if self.compiled:
            return lambda q, k, v: self.flex_attention(q, k, v, block_mask=mask)
        return masked_attention(mask)


def loss_function(model, attention):
    """loss_of(...). Where all is compiled, a layer is compiled once for all of them, which are alike: the network as a
    whole takes minutes."""
    def embedded(text, codes, is_text, pos):
        return model.embedded(text, codes, is_text, pos)

    def through(layer, x, cos, sin, mask):
        return layer(x, cos, sin, attention.attend(mask))

    def compared(last, middle, targets, labels, weights, phones, phone_weight):
        last = model.llm.norm(last.flatten(0, 1)[targets])
        losses = F.cross_entropy(model.logits(last).float().flatten(0, 1), labels.flatten(), reduction="none")
        of_codes = (losses * weights.flatten()).sum() / weights.sum()
        is_known = (phones < PHONES).flatten().float()
        middle = middle.flatten(0, 1)[targets]
        losses = F.cross_entropy(model.phone_logits(middle).float().flatten(0, 1),
                                 phones.flatten().clamp(max=PHONES - 1), reduction="none")
        of_phones = (losses * is_known).sum() / is_known.sum().clamp(min=1)
        return of_codes + phone_weight * of_phones, torch.stack([of_codes, of_phones]).detach()

    if attention.compiled == ALL:
        torch._dynamo.config.cache_size_limit = 16
        embedded, through, compared = (torch.compile(part, dynamic=False) for part in (embedded, through, compared))

    def loss_of(text, codes, is_text, pos, mask, targets, labels, weights, phones, phone_weight):
        """(what is minimised, losses of codes and of phones). targets: (m,) places in the flattened rows; labels and
        weights: (m, 8), 0 where nothing is to be learnt; phones: (m, 4)."""
        x, cos, sin = embedded(text, codes, is_text, pos)
        last, middle = model.through_layers(x, lambda layer, x: through(layer, x, cos, sin, mask))
        return compared(last, middle, targets, labels, weights, phones, phone_weight)
    return loss_of
