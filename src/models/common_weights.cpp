#include "models/common_weights.h"

namespace parlance {

namespace {

// `attn_qkv` holds the rows of q, then k, then v.
Linear rows_of(const Linear& fused, int64_t first, int64_t n) {
  Linear part;
  part.weight = fused.weight.rows(first, n);
  if (fused.bias) {
    part.bias = fused.bias;
    part.bias.data += static_cast<size_t>(first) * sizeof(float);
    part.bias.ne = {n, 1, 1, 1};
  }
  return part;
}

}  // namespace

Result<int64_t> count_vocabulary(const WeightLoader& weights) {
  const GgufTensor* embedding = weights.file().find_tensor("token_embd.weight");
  if (embedding) return embedding->ne[1];
  return fail(ErrorCode::corrupt_file,
              "{}: tensor token_embd.weight is missing; the file is incomplete or holds a vocabulary only",
              weights.file().name());
}

Result<AttentionWeights> load_attention(WeightLoader& weights, const HyperParameters& hp, bool has_qk_norm,
                                        const std::string& block) {
  AttentionWeights w;
  const int64_t n_q = hp.n_head * hp.head_dim_k;
  const int64_t n_k = hp.n_head_kv * hp.head_dim_k;
  const int64_t n_v = hp.n_head_kv * hp.head_dim_v;
  if (weights.has(block + "attn_qkv.weight")) {
    PARLANCE_TRY(const Linear fused, weights.linear(block + "attn_qkv", hp.n_embd, n_q + n_k + n_v));
    w.q = rows_of(fused, 0, n_q);
    w.k = rows_of(fused, n_q, n_k);
    w.v = rows_of(fused, n_q + n_k, n_v);
  } else {
    PARLANCE_TRY(w.q, weights.linear(block + "attn_q", hp.n_embd, n_q));
    PARLANCE_TRY(w.k, weights.linear(block + "attn_k", hp.n_embd, n_k));
    PARLANCE_TRY(w.v, weights.linear(block + "attn_v", hp.n_embd, n_v));
  }
  PARLANCE_TRY(w.output, weights.linear(block + "attn_output", hp.n_head * hp.head_dim_v, hp.n_embd));
  if (has_qk_norm) {
    PARLANCE_TRY(w.q_norm, weights.vector(block + "attn_q_norm.weight", hp.head_dim_k));
    PARLANCE_TRY(w.k_norm, weights.vector(block + "attn_k_norm.weight", hp.head_dim_k));
  }
  return w;
}

Result<MlpWeights> load_mlp(WeightLoader& weights, const HyperParameters& hp, const std::string& block) {
  MlpWeights w;
  PARLANCE_TRY(w.gate, weights.linear(block + "ffn_gate", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(w.up, weights.linear(block + "ffn_up", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(w.down, weights.linear(block + "ffn_down", hp.n_ff, hp.n_embd));
  return w;
}

Result<RopeWeights> load_rope(WeightLoader& weights, const RopeParameters& rope,
                              const RopeFrequencies& frequencies) {
  RopeWeights w;
  w.magnitude = frequencies.magnitude;
  PARLANCE_TRY(w.inverse, weights.constant(frequencies.inverse, rope.n_rot / 2, 2));
  if (!rope.sections.empty()) {
    PARLANCE_TRY(w.sections, weights.constant(rope.sections));
  }
  return w;
}

Result<Linear> load_output(WeightLoader& weights, const HyperParameters& hp, int64_t n_vocab) {
  if (weights.has("output.weight")) return weights.linear("output", hp.n_embd, n_vocab);
  PARLANCE_TRY(const Tensor tied, weights.matrix("token_embd.weight", hp.n_embd, n_vocab));
  return weights.linear(tied);
}

}  // namespace parlance
