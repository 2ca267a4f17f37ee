"""What the recogniser learns from, and how its weights move."""

import torch
import torch.nn.functional as F

from corrupt import hide_parts, other_rhythms, other_throats, smoothed
from data import NO_PHONE
import mel
from network import N_PHONES
from optimizer import Muon

MIDDLE_SHARE = 0.4          # of the characters' loss, for the head in the middle of the encoder


def schedule(progress, step, warmup, decay):
    """Warm up, hold, then fall linearly to zero over the last share `decay` of the run."""
    return min((step + 1) / warmup, 1.0) * min(1.0, max(0.0, 1 - progress) / decay)


class Optimizer:
    """Muon for the matrices inside the networks, AdamW for the rest: embedding, convolutions, norms, auxiliary head."""

    def __init__(self, model, muon_lr, adam_lr):
        # Muon's bfloat16 products take many seconds a step on a CPU; smoke runs there do with AdamW.
        inside = [p for name, p in model.named_parameters()
                  if p.is_cuda and p.dim() == 2 and not name.startswith(("decoder.token_embd", "ctc"))]
        chosen = {id(p) for p in inside}
        rest = [p for p in model.parameters() if id(p) not in chosen]
        self.muon, self.adam_lr, self.parameters = Muon(inside, muon_lr), adam_lr, inside + rest
        self.adam = torch.optim.AdamW(rest, lr=adam_lr, betas=(0.9, 0.98), weight_decay=0.0,
                                      **({"fused": True} if rest[0].is_cuda else {}))

    def step(self, scale):
        """Returns the gradient's norm before it was limited to 1 for AdamW's parameters."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.muon.step(scale)
        for group in self.adam.param_groups:
            group["lr"] = self.adam_lr * scale
        self.adam.step()
        for parameter in self.parameters:
            parameter.grad = None
        return norm

    def state_dict(self):
        return {"muon": [buffer for _, buffer in self.muon.groups], "adam": self.adam.state_dict()}

    def load_state_dict(self, state):
        for (_, buffer), saved in zip(self.muon.groups, state["muon"]):
            buffer.copy_(saved)
        self.adam.load_state_dict(state["adam"])


class Losses:
    """Answer's cross entropy plus the auxiliary losses of the encoder: characters at its end and middle, and phones."""

    def __init__(self, model, front_end, options):
        self.model, self.front_end = model, front_end
        self.ctc_weight, self.phone_weight, self.smoothing = options.ctc_weight, options.phone_weight, options.smoothing

    def ctc(self, log_probabilities, batch):
        """Per character."""
        if not len(batch.symbols):
            return log_probabilities.sum() * 0
        per_token = log_probabilities.shape[0] // int(batch.layout.n_tokens.max())
        n_places = tuple(int(n) * per_token for n in batch.layout.n_tokens)
        return F.ctc_loss(log_probabilities, batch.symbols, n_places, batch.n_symbols, reduction="sum",
                          zero_infinity=True) / len(batch.symbols)

    def __call__(self, audio, lengths, batch, mask=True):
        """(loss, answer's loss per token, CTC loss per character, loss per phone, share of right tokens).

        The batch lies on the device.
        """
        model, device, layout = self.model, audio.device, batch.layout
        with torch.no_grad():
            spectrum = self.front_end(audio, lengths)
            if mask:
                spectrum = other_rhythms(other_throats(spectrum), lengths.clamp(min=mel.SHORTEST) // mel.HOP)
                spectrum = hide_parts(smoothed(spectrum))
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            h, rows, middle = model.encoder(spectrum, layout)
            hidden = model.hidden(batch.ids, rows, batch.audio_at).flatten(0, 1).index_select(0, batch.places)
            logits = model.decoder.logits(hidden).float()
            ends = model.ctc_log_probabilities(h, layout)
            middles = model.ctc_log_probabilities(middle, layout, model.ctc_middle)
            phones = model.ctc_phones(middle).float().view(-1, N_PHONES)      # (token * CTC_PER_TOKEN, phone)
        answer = F.cross_entropy(logits, batch.targets, label_smoothing=self.smoothing)
        ctc = self.ctc(ends, batch)
        loss = answer + self.ctc_weight * ((1 - MIDDLE_SHARE) * ctc + MIDDLE_SHARE * self.ctc(middles, batch))
        phone = phones.sum() * 0
        if batch.phones is not None:
            known = (batch.phones != NO_PHONE).sum().clamp(min=1)
            phone = F.cross_entropy(phones, batch.phones.flatten(), ignore_index=NO_PHONE, reduction="sum") / known
        right = (logits.argmax(-1) == batch.targets).float().mean()
        return loss + self.phone_weight * phone, answer.detach(), ctc.detach(), phone.detach(), right
