"""What the recogniser learns from, and how its weights move."""

import numpy as np
import torch
import torch.nn.functional as F

from corrupt import hide_parts
from data import sequences
import mel
from network import Layout, to_device
from optimizer import Muon


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
    """Answer's cross entropy plus the auxiliary loss of the encoder's characters."""

    def __init__(self, model, front_end, prompt, ctc_weight, smoothing):
        self.model, self.front_end, self.prompt = model, front_end, prompt
        self.ctc_weight, self.smoothing = ctc_weight, smoothing

    def __call__(self, audio, lengths, clips, window_chunks, rng, noise, mask=True):
        """(loss, answer's loss per token, CTC loss per character, share of right tokens)."""
        model, device = self.model, audio.device
        layout = Layout(mel.n_frames(clips.length), device, window_chunks)
        ids, rows_at, places, targets = (to_device(x, device)
                                         for x in sequences(self.prompt, clips, layout.n_tokens, rng, noise))
        with torch.no_grad():
            spectrum = self.front_end(audio, lengths)
            if mask:
                spectrum = hide_parts(spectrum)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            h, rows = model.encoder(spectrum, layout)
            hidden = model.hidden(ids, rows, rows_at).flatten(0, 1).index_select(0, places)
            logits = model.decoder.logits(hidden).float()
            log_probabilities = model.ctc_log_probabilities(h, layout)
        answer = F.cross_entropy(logits, targets, label_smoothing=self.smoothing)
        n_symbols = [len(symbols) for symbols in clips.symbols]
        flat = to_device(np.concatenate([np.array(s, np.int64) for s in clips.symbols]), device)
        per_token = log_probabilities.shape[0] // int(layout.n_tokens.max())
        ctc = F.ctc_loss(log_probabilities, flat, tuple(int(n) * per_token for n in layout.n_tokens), tuple(n_symbols),
                         reduction="sum", zero_infinity=True) / max(1, len(flat)) if len(flat) else answer * 0
        right = (logits.argmax(-1) == targets).float().mean()
        return answer + self.ctc_weight * ctc, answer.detach(), ctc.detach(), right
