#include "models/layers/attention.h"

namespace parlance {

Tensor self_attention(Stream& s, const AttentionWeights& w, const HyperParameters& hp, RopeStyle rope_style,
                      const Tensor& x, const Tensor& angles, const KvView& kv, int64_t layer,
                      const BatchView& batch) {
  const int64_t n_tokens = x.ne[1];
  const Products qkv = matmul(s, {&w.q, &w.k, &w.v}, x);
  Tensor q = qkv.out[0].reshaped(hp.head_dim_k, hp.n_head, n_tokens);
  Tensor k = qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n_tokens);
  const Tensor v = qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n_tokens);

  if (w.q_norm) q = rms_norm(s, q, w.q_norm, hp.norm_eps);
  if (w.k_norm) k = rms_norm(s, k, w.k_norm, hp.norm_eps);
  rope(s, q, angles, rope_style);
  rope(s, k, angles, rope_style);

  kv_write(s, kv, layer, k, v, batch);
  return matmul(s, w.output, attention(s, q, kv, layer, batch, hp.attention_scale));
}

}  // namespace parlance
