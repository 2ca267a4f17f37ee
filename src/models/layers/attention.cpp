#include "models/layers/attention.h"

#include "kernels/fused_ops.h"

namespace parlance {

namespace {

struct Heads {
  Tensor q, k, v;
};

Heads heads_of(const HyperParameters& hp, const Products& qkv) {
  const int64_t n_tokens = qkv.out[0].ne[1];
  return {qkv.out[0].reshaped(hp.head_dim_k, hp.n_head, n_tokens),
          qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n_tokens),
          qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n_tokens)};
}

}  // namespace

Tensor remember(Stream& s, const AttentionWeights& w, const HyperParameters& hp, RopeStyle rope_style,
                const Products& qkv, const Tensor& angles, const KvView& kv, const BatchView& batch) {
  const auto [q, k, v] = heads_of(hp, qkv);
  norm_rope_write(s, q, k, v, {w.q_norm, w.k_norm, hp.norm_eps}, angles, rope_style, kv, batch);
  return q;
}

Tensor attend(Stream& s, const HyperParameters& hp, const Tensor& q, const KvView& kv,
              const BatchView& batch) {
  return attention(s, q, kv, batch, hp.attention_scale);
}

bool attends_at_once(const Stream& s, const BatchView& batch) {
  const int64_t n = batch.pos.n_elements();
  return (n == 1 || batch.most_rows == 1) && fuses_rows(s, n) && !batch.copies;
}

Tensor remember_and_attend(Stream& s, const AttentionWeights& w, const HyperParameters& hp,
                           RopeStyle rope_style, const Products& qkv, const Tensor& angles, const KvView& kv,
                           const BatchView& batch) {
  const auto [q, k, v] = heads_of(hp, qkv);
  return attention(s, q, k, v, {w.q_norm, w.k_norm, hp.norm_eps}, angles, rope_style, kv, batch,
                   hp.attention_scale);
}

}  // namespace parlance
