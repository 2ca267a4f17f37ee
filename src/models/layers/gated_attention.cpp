#include "models/layers/gated_attention.h"

namespace parlance {

QueryAndGate remember(Stream& s, const GatedAttentionWeights& w, const HyperParameters& hp, const Tensor& x,
                      const Tensor& angles, const KvView& kv, const BatchView& batch) {
  const int64_t n_tokens = x.ne[1];
  const Products qkv = matmul(s, {&w.q_gate, &w.k, &w.v}, x);
  const QueryAndGate query = split_gate(s, qkv.out[0].reshaped(2 * hp.head_dim_k, hp.n_head, n_tokens));
  const Tensor k = qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n_tokens);
  const Tensor v = qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n_tokens);

  norm_rope_write(s, query.q, k, v, {w.q_norm, w.k_norm, hp.norm_eps}, angles, RopeStyle::halves, kv, batch);
  return query;
}

Tensor attend(Stream& s, const GatedAttentionWeights& w, const HyperParameters& hp, const QueryAndGate& query,
              const KvView& kv, const BatchView& batch) {
  const Tensor attn = attention(s, query.q, kv, batch, hp.attention_scale);
  sigmoid_gate(s, attn, query.gate);
  return matmul(s, w.output, attn);
}

}  // namespace parlance
