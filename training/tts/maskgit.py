"""MaskGIT decoding in PyTorch, as src/tts/maskgit.h decides: many requests at once, the noise not the program's."""

from dataclasses import dataclass
import math

import numpy as np
import torch

from prompt import prompt_ids
from speech_lm import N_CODEBOOK, masked_attention, same_document


@dataclass
class Request:
    text: str                              # as it is said
    n_frames: int
    instruct: str = ""
    reference: object = None               # codes (8, n) or none
    reference_text: str = ""


@dataclass
class Options:
    n_step: int = 16
    guidance: float = 2
    t_shift: float = 0.1
    layer_penalty: float = 5
    position_temperature: float = 5


def slots_per_step(n_step, shift, n_slots):
    shift, ratios = np.float32(shift), np.arange(n_step + 1, dtype=np.float32) / np.float32(n_step)
    times = shift * ratios / (1 + (shift - 1) * ratios)
    counts, left = [], n_slots
    for i in range(n_step):
        wanted = math.ceil(n_slots * float(np.float32(times[i + 1] - times[i])))
        counts.append(left if i == n_step - 1 else min(wanted, left))
        left -= counts[-1]
    return counts


def lay_out(requests, mask, device):
    """Rows of a conditional document (0), the target alone (1) and padding (2); targets' places (batch, 2, n_most)."""
    prompts = [prompt_ids(r.text, r.instruct, r.reference_text, r.reference is not None) for r in requests]
    n_reference = [0 if r.reference is None else r.reference.shape[1] for r in requests]
    length = max(len(p) + n + 2 * r.n_frames for p, n, r in zip(prompts, n_reference, requests))
    n_most = max(r.n_frames for r in requests)
    shape = (len(requests), length)
    text, pos, document = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, 2)
    codes, is_text = np.full((*shape, N_CODEBOOK), mask), np.zeros(shape, bool)
    place = np.zeros((len(requests), 2, n_most), np.int64)
    for b, (r, ids, n) in enumerate(zip(requests, prompts, n_reference)):
        begin = len(ids) + n
        end = begin + r.n_frames
        text[b, :len(ids)], is_text[b, :len(ids)] = ids, True
        if n:
            codes[b, len(ids):begin] = np.asarray(r.reference).T
        document[b, :end], document[b, end:end + r.n_frames] = 0, 1
        pos[b, :end], pos[b, end:end + r.n_frames] = np.arange(end), np.arange(r.n_frames)
        place[b, 0, :r.n_frames] = np.arange(begin, end)
        place[b, 1, :r.n_frames] = np.arange(end, end + r.n_frames)
    return [torch.from_numpy(x).to(device) for x in (text, codes, is_text, pos, document, place)]


@torch.no_grad()
def decode(model, requests, options=Options(), seed=42):
    """Codes (8, n_frames) of each request, as numpy arrays."""
    device, mask = model.audio_heads.weight.device, model.config.mask
    text, codes, is_text, pos, document, place = lay_out(requests, mask, device)
    attend = masked_attention(same_document(document))
    generator = torch.Generator(device="cpu").manual_seed(seed)
    counts = [slots_per_step(options.n_step, options.t_shift, N_CODEBOOK * r.n_frames) for r in requests]
    batch = torch.arange(len(requests), device=device)[:, None]
    n_frames = torch.tensor([r.n_frames for r in requests], device=device)
    is_frame = torch.arange(place.shape[2], device=device) < n_frames[:, None]              # (batch, n_most)
    penalty = options.layer_penalty * torch.arange(N_CODEBOOK, device=device)[None, :, None]
    tokens = torch.full((len(requests), N_CODEBOOK, place.shape[2]), mask, device=device)
    for step in range(options.n_step):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            hidden = model.hidden(text, codes, is_text, pos, attend)
            rows = hidden[batch[:, :, None], place]                                         # (batch, 2, n_most, n_embd)
            both = model.logits(rows).float().log_softmax(-1)
        lp = (both[:, 0] + options.guidance * (both[:, 0] - both[:, 1])).log_softmax(-1)    # (batch, n_most, 8, V)
        lp[..., mask] = -math.inf
        confidence, chosen = (x.transpose(1, 2) for x in lp.max(-1))                        # (batch, 8, n_most)
        score = confidence - penalty
        if options.position_temperature > 0:
            u = torch.rand(score.shape, generator=generator).to(device)
            score = score / options.position_temperature - torch.log(-torch.log(u + 1e-10) + 1e-10)
        score = score.masked_fill((tokens != mask) | ~is_frame[:, None], -math.inf).flatten(1)
        order = score.sort(stable=True, dim=1, descending=True).indices
        n_now = torch.tensor([c[step] for c in counts], device=device)[:, None]
        is_first = torch.arange(order.shape[1], device=device) < n_now
        is_now = torch.zeros_like(is_first).scatter_(1, order, is_first)
        tokens = torch.where(is_now.view_as(tokens), chosen, tokens)
        b, t = is_frame.nonzero(as_tuple=True)                                              # columns of some request
        for row in range(2):
            codes[b, place[b, row, t]] = tokens[b, :, t]
    return [tokens[b, :, :r.n_frames].cpu().numpy().astype(np.uint16) for b, r in enumerate(requests)]
