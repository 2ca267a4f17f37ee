"""Attention of packed rows and of the drafter's blocks: compiled flex attention on a GPU, dense masks elsewhere."""

import torch

from blocks import dense_mask
from drafter import attend_masked


class Attention:
    def __init__(self, device, flex: bool):
        self.flex = flex and device.type == "cuda"
        if self.flex:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            self.flex_attention = torch.compile(flex_attention, dynamic=False)     # two shapes in a run
            self.create_block_mask = torch.compile(create_block_mask, dynamic=False)

    def rows(self, documents):
        """attend(q, k, v) of the target: causal, inside each document."""
        n_batch, n = documents.shape
        if self.flex:
            def visible(b, h, q, k):
                return (q >= k) & (documents[b, q] == documents[b, k])
            mask = self.create_block_mask(visible, n_batch, None, n, n, device=documents.device)
            return lambda q, k, v: self.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
        causal = torch.ones(n, n, dtype=torch.bool, device=documents.device).tril()
        mask = (causal & (documents[:, :, None] == documents[:, None, :]))[:, None]
        return lambda q, k, v: attend_masked(q, k, v, mask)

    def blocks(self, documents, anchors, n_block):
        """attend(q, k, v) of the drafter: a block sees earlier positions of its document and itself."""
        n_batch, n = documents.shape
        if not self.flex:
            mask = dense_mask(documents, anchors, n_block)
            return lambda q, k, v: attend_masked(q, k, v, mask)
        own, n_queries = documents.gather(1, anchors), anchors.shape[1] * n_block

        def visible(b, h, q, k):
            block = q // n_block
            context = (k < n) & (documents[b, k % n] == own[b, block]) & (k < anchors[b, block])
            return context | ((k >= n) & ((k - n) // n_block == block))

        mask = self.create_block_mask(visible, n_batch, None, n_queries, n + n_queries, device=documents.device)
        return lambda q, k, v: self.flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
