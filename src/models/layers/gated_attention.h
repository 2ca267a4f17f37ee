// Self-attention whose output each head gates with a sigmoid of its own (Qiu et al., 2025).
#pragma once

#include "kernels/ops.h"
#include "models/hyper_parameters.h"

namespace parlance {

struct GatedAttentionWeights {
  Linear q_gate;  // [n_embd, 2 * n_head * head_dim]: rows of a head's query, then of its gate
  Linear k;       // [n_embd, n_head_kv * head_dim]
  Linear v;       // [n_embd, n_head_kv * head_dim]
  Linear output;  // [n_head * head_dim, n_embd]
  Tensor q_norm;  // [head_dim]
  Tensor k_norm;  // [head_dim]
};

// x (n_embd, n_tokens), already normalised -> (n_embd, n_tokens). Keys and values of the batch are written to
// the cache first, so that each token sees itself.
Tensor gated_attention(Stream& s, const GatedAttentionWeights& w, const HyperParameters& hp, const Tensor& x,
                       const Tensor& angles, const KvView& kv, const BatchView& batch);

}  // namespace parlance
