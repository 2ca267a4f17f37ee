// Finds Qwen3.5's weights in a file.
#include <string>

#include "models/common_weights.h"
#include "models/layers/rope.h"
#include "models/qwen35.h"

namespace parlance {

namespace {

Result<GatedAttentionWeights> load_attention(WeightLoader& weights, const HyperParameters& hp,
                                             const std::string& block) {
  GatedAttentionWeights w;
  const int64_t n_q = hp.n_head * hp.head_dim_k;
  const int64_t n_kv = hp.n_head_kv * hp.head_dim_k;
  PARLANCE_TRY(w.q_gate, weights.linear(block + "attn_q", hp.n_embd, 2 * n_q));
  PARLANCE_TRY(w.k, weights.linear(block + "attn_k", hp.n_embd, n_kv));
  PARLANCE_TRY(w.v, weights.linear(block + "attn_v", hp.n_embd, n_kv));
  PARLANCE_TRY(w.output, weights.linear(block + "attn_output", n_q, hp.n_embd));
  PARLANCE_TRY(w.q_norm, weights.vector(block + "attn_q_norm.weight", hp.head_dim_k));
  PARLANCE_TRY(w.k_norm, weights.vector(block + "attn_k_norm.weight", hp.head_dim_k));
  return w;
}

Result<DeltaNetWeights> load_delta_net(WeightLoader& weights, const HyperParameters& hp,
                                       const std::string& block) {
  DeltaNetWeights w;
  const DeltaNetParameters& net = hp.delta_net;
  PARLANCE_TRY(w.qkv, weights.linear(block + "attn_qkv", hp.n_embd, net.n_channel()));
  PARLANCE_TRY(w.gate, weights.linear(block + "attn_gate", hp.n_embd, net.n_inner()));
  PARLANCE_TRY(w.alpha, weights.linear(block + "ssm_alpha", hp.n_embd, net.n_value_head));
  PARLANCE_TRY(w.beta, weights.linear(block + "ssm_beta", hp.n_embd, net.n_value_head));
  PARLANCE_TRY(w.conv, weights.f32_matrix(block + "ssm_conv1d.weight", net.n_tap, net.n_channel()));
  PARLANCE_TRY(w.a, weights.vector(block + "ssm_a", net.n_value_head));
  PARLANCE_TRY(w.dt_bias, weights.vector(block + "ssm_dt.bias", net.n_value_head));
  PARLANCE_TRY(w.norm, weights.vector(block + "ssm_norm.weight", net.head_dim));
  PARLANCE_TRY(w.output, weights.linear(block + "ssm_out", net.n_inner(), hp.n_embd));
  return w;
}

Result<Qwen35Layer> load_layer(WeightLoader& weights, const HyperParameters& hp, int64_t layer) {
  const std::string block = fmt::format("blk.{}.", layer);
  Qwen35Layer l;
  PARLANCE_TRY(l.attn_norm, weights.vector(block + "attn_norm.weight", hp.n_embd));
  if (hp.layer_kinds[static_cast<size_t>(layer)] == LayerKind::attention) {
    PARLANCE_TRY(l.mixer, load_attention(weights, hp, block));
  } else {
    PARLANCE_TRY(l.mixer, load_delta_net(weights, hp, block));
  }
  // Named after what it follows, not after what it feeds.
  PARLANCE_TRY(l.ffn_norm, weights.vector(block + "post_attention_norm.weight", hp.n_embd));
  PARLANCE_TRY(l.mlp, load_mlp(weights, hp, block));
  return l;
}

}  // namespace

Result<std::unique_ptr<Model>> Qwen35::load(const HyperParameters& hp, const Placement& placement,
                                            WeightLoader weights) {
  if (hp.head_dim_k != hp.head_dim_v) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: heads of {} (attention.key_length) are gated like values of {} (attention.value_length), "
        "which must be the same; export the model again",
        weights.file().name(), hp.head_dim_k, hp.head_dim_v);
  }
  std::unique_ptr<Qwen35> model(new Qwen35(hp, placement));
  Qwen35Weights& w = model->w_;
  const RopeFrequencies frequencies = rope_frequencies(hp.rope, {});

  PARLANCE_TRY(const int64_t n_vocab, count_vocabulary(weights));
  weights.place_on(*placement.first().device);
  PARLANCE_TRY(w.token_embd, weights.matrix("token_embd.weight", hp.n_embd, n_vocab));
  for (const ModelPart& part : placement.parts()) {
    weights.place_on(*part.device);
    PARLANCE_TRY(const RopeWeights rope, load_rope(weights, hp.rope, frequencies));
    w.rope.push_back(rope);
    for (int64_t layer = part.first_layer; layer < part.end_layer; ++layer) {
      PARLANCE_TRY(const Qwen35Layer loaded, load_layer(weights, hp, layer));
      w.layers.push_back(loaded);
    }
  }
  PARLANCE_TRY(w.output_norm, weights.vector("output_norm.weight", hp.n_embd));
  PARLANCE_TRY(w.output, load_output(weights, hp, n_vocab));
  for (int64_t i = 0; i < hp.n_layer_nextn; ++i) weights.ignore_layer(hp.n_layer + i);

  PARLANCE_TRY(model->buffers_, std::move(weights).finish());
  return model;
}

Architecture qwen35_architecture() {
  return {"qwen35", Qwen35::read, Qwen35::load};
}

}  // namespace parlance
