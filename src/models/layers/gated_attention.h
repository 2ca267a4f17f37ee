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

// x (n_embd, n_tokens), already normalised -> queries and gates (head_dim, n_head, n_tokens). Keys and values
// of the batch are written to the cache.
QueryAndGate remember(Stream& s, const GatedAttentionWeights& w, const HyperParameters& hp, const Tensor& x,
                      const Tensor& angles, const KvView& kv, const BatchView& batch);

// Queries of a batch whose keys and values are in the cache, so that each token sees itself -> (n_embd,
// n_tokens).
Tensor attend(Stream& s, const GatedAttentionWeights& w, const HyperParameters& hp, const QueryAndGate& query,
              const KvView& kv, const BatchView& batch);

}  // namespace parlance
