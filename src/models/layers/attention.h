// Grouped-query self-attention over the KV cache.
#pragma once

#include <cstdint>

#include "kernels/ops.h"
#include "models/hyper_parameters.h"

namespace parlance {

struct AttentionWeights {
  Linear q;       // [n_embd, n_head * head_dim_k]
  Linear k;       // [n_embd, n_head_kv * head_dim_k]
  Linear v;       // [n_embd, n_head_kv * head_dim_v]
  Linear output;  // [n_head * head_dim_v, n_embd]
  Tensor q_norm;  // [head_dim_k], or absent
  Tensor k_norm;  // [head_dim_k], or absent
};

// The products of q, k and v, rows flat -> queries (head_dim_k, n_head, n_tokens). Keys and values of the
// batch are written to the cache.
Tensor remember(Stream& s, const AttentionWeights& w, const HyperParameters& hp, RopeStyle rope_style,
                const Products& qkv, const Tensor& angles, const KvView& kv, const BatchView& batch);

// Queries of a batch whose keys and values are in the cache, so that each token sees itself -> (n_head *
// head_dim_v, n_tokens), what the output's weight takes.
Tensor attend(Stream& s, const HyperParameters& hp, const Tensor& q, const KvView& kv,
              const BatchView& batch);

// Both in one go, where no row sees what another one writes, none is a copy's, and the device has that for so
// many: see fused_ops.h.
bool attends_at_once(const Stream& s, const BatchView& batch);
Tensor remember_and_attend(Stream& s, const AttentionWeights& w, const HyperParameters& hp,
                           RopeStyle rope_style, const Products& qkv, const Tensor& angles, const KvView& kv,
                           const BatchView& batch);

}  // namespace parlance
