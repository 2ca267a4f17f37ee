"""Training examples of the drafter: blocks that begin at tokens of answers, many to a packed row.

A block at position p is [token p, mask, ..., mask]. It sees the target's states of earlier positions of its document
and all of itself, and is to say what the target would say greedily at p + 1, p + 2, ...
"""

import torch
import torch.nn.functional as F

SLOT_DECAY = 0.9        # a slot counts only if those before it were right, so the later ones matter less


def choose_anchors(is_answer, end_token_mask, n_anchors):
    """(anchors, valid): (batch, n_anchors) ascending positions inside answers, drawn at random; is_answer: (batch, n).

    A block never begins at the token that ends an answer, for generation stops there.
    """
    may_begin = is_answer & ~end_token_mask
    chance = torch.rand(is_answer.shape, device=is_answer.device) + may_begin       # those that may begin come first
    anchors = chance.topk(n_anchors, dim=1).indices.sort(dim=1).values
    return anchors, may_begin.gather(1, anchors)


def block_targets(tokens, is_answer, greedy, anchors, valid, n_block):
    """(labels, weights), each (batch, n_anchors, n_block - 1), of slots 1 to n_block - 1.

    greedy[:, t] is what the target says after token t. A slot counts while the answer goes on and the text so far is
    what the target says; after a difference the row's text is not what generation would have seen.
    """
    n = tokens.shape[1]
    slots = anchors[..., None] + torch.arange(1, n_block, device=tokens.device)             # positions to be drafted
    inside = slots < n
    at = slots.clamp(max=n - 1).flatten(1)
    take = lambda x, index: x.gather(1, index).view_as(slots)
    labels = take(greedy, at - 1)
    counts = (take(is_answer, at) & inside).int().cumprod(-1)
    agrees = (take(tokens, at) == labels).int().cumprod(-1)
    followed = torch.cat([torch.ones_like(agrees[..., :1]), agrees[..., :-1]], dim=-1)
    decay = SLOT_DECAY ** torch.arange(n_block - 1, device=tokens.device)
    return labels, counts * followed * valid[..., None] * decay


def dense_mask(documents, anchors, n_block):
    """(batch, 1, n_anchors * n_block, n + n_anchors * n_block), True where a block token may look: the definition."""
    n_batch, n = documents.shape
    n_anchors, device = anchors.shape[1], documents.device
    position, own = torch.arange(n, device=device), documents.gather(1, anchors)
    context = (documents[:, None, :] == own[..., None]) & (position < anchors[..., None])   # (batch, n_anchors, n)
    block = torch.eye(n_anchors, dtype=torch.bool, device=device).expand(n_batch, -1, -1)
    both = torch.cat([context, block.repeat_interleave(n_block, dim=2)], dim=2)
    return both.repeat_interleave(n_block, dim=1)[:, None]


def slot_accuracy(logits, labels, weights):
    """(tokens, right, tries): mean tokens a step with the correction; each slot's hits and tries after right slots."""
    counted = weights > 0
    right = (logits.argmax(-1) == labels) & counted
    prefix = right.int().cumprod(-1)
    reached = torch.cat([counted[..., :1].int(), prefix[..., :-1]], dim=-1) * counted
    blocks = counted[..., 0].sum().clamp(min=1)
    return 1 + prefix.sum() / blocks, prefix.flatten(0, -2).sum(0), reached.flatten(0, -2).sum(0)


def weighted_loss(logits, labels, weights):
    losses = F.cross_entropy(logits.float().flatten(0, -2), labels.flatten(), reduction="none")
    return (losses * weights.flatten()).sum() / weights.sum().clamp(min=1e-6)
