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

// x (n_embd, n_tokens), already normalised -> (n_embd, n_tokens). Keys and values of the batch are written to
// the cache first, so that each token sees itself.
Tensor self_attention(Stream& s, const AttentionWeights& w, const HyperParameters& hp, RopeStyle rope_style,
                      const Tensor& x, const Tensor& angles, const KvView& kv, const BatchView& batch);

}  // namespace parlance
