#include "models/layers/attention.h"

namespace parlance {

Tensor remember(Stream& s, const AttentionWeights& w, const HyperParameters& hp, RopeStyle rope_style,
                const Products& qkv, const Tensor& angles, const KvView& kv, const BatchView& batch) {
  const int64_t n_tokens = qkv.out[0].ne[1];
  const Tensor q = qkv.out[0].reshaped(hp.head_dim_k, hp.n_head, n_tokens);
  const Tensor k = qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n_tokens);
  const Tensor v = qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n_tokens);

  norm_rope_write(s, q, k, v, {w.q_norm, w.k_norm, hp.norm_eps}, angles, rope_style, kv, batch);
  return q;
}

Tensor attend(Stream& s, const HyperParameters& hp, const Tensor& q, const KvView& kv,
              const BatchView& batch) {
  return attention(s, q, kv, batch, hp.attention_scale);
}

}  // namespace parlance
