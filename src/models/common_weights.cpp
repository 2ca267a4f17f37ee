#include "models/common_weights.h"

namespace parlance {

Result<int64_t> count_vocabulary(const WeightLoader& weights) {
  const GgufTensor* embedding = weights.file().find_tensor("token_embd.weight");
  if (embedding) return embedding->ne[1];
  return fail(ErrorCode::corrupt_file,
              "{}: tensor token_embd.weight is missing; the file is incomplete or holds a vocabulary only",
              weights.file().name());
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
  Linear tied;
  PARLANCE_TRY(tied.weight, weights.matrix("token_embd.weight", hp.n_embd, n_vocab));
  return tied;
}

}  // namespace parlance
