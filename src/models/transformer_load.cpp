// Finds a transformer's weights in a file.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "models/common_weights.h"
#include "models/layers/rope.h"
#include "models/transformer.h"

namespace parlance {

namespace {

// The factors of Llama 3's scaling, or none.
Result<std::vector<float>> load_rope_factors(WeightLoader& weights, const HyperParameters& hp,
                                             const TransformerVariant& variant) {
  constexpr const char* kName = "rope_freqs.weight";
  if (!variant.has_rope_factors || !weights.has(kName)) return std::vector<float>{};
  const int64_t n = hp.rope.n_rot / 2;
  const GgufTensor& source = *weights.file().find_tensor(kName);
  if (source.dtype != DType::f32 || source.ne != std::array<int64_t, 4>{n, 1, 1, 1}) {
    return fail(ErrorCode::corrupt_file,
                "{}: {}: expected f32 [{}], the file has another type or shape; export it again",
                weights.file().name(), kName, n);
  }
  weights.ignore(kName);
  std::vector<float> factors(static_cast<size_t>(n));
  std::memcpy(factors.data(), source.bytes.data(), source.bytes.size());
  if (!std::all_of(factors.begin(), factors.end(), [](float f) { return f > 0 && std::isfinite(f); })) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} holds a factor that is not a positive number; export it again", weights.file().name(),
                kName);
  }
  return factors;
}

Result<TransformerLayer> load_layer(WeightLoader& weights, const HyperParameters& hp,
                                    const TransformerVariant& variant, int64_t layer) {
  const std::string block = fmt::format("blk.{}.", layer);
  TransformerLayer l;
  PARLANCE_TRY(l.attn_norm, weights.vector(block + "attn_norm.weight", hp.n_embd));
  PARLANCE_TRY(l.attention, load_attention(weights, hp, variant.has_qk_norm, block));
  PARLANCE_TRY(l.ffn_norm, weights.vector(block + "ffn_norm.weight", hp.n_embd));
  PARLANCE_TRY(l.mlp, load_mlp(weights, hp, block));
  return l;
}

}  // namespace

Result<std::unique_ptr<Model>> Transformer::load(const HyperParameters& hp, const Placement& placement,
                                                 WeightLoader weights, const TransformerVariant& variant) {
  std::unique_ptr<Transformer> model(new Transformer(hp, placement, variant));
  TransformerWeights& w = model->w_;
  PARLANCE_TRY(const std::vector<float> factors, load_rope_factors(weights, hp, variant));
  const RopeFrequencies frequencies = rope_frequencies(hp.rope, factors);

  PARLANCE_TRY(const int64_t n_vocab, count_vocabulary(weights));
  weights.place_on(*placement.first().device);
  PARLANCE_TRY(w.token_embd, weights.matrix("token_embd.weight", hp.n_embd, n_vocab));
  for (const ModelPart& part : placement.parts()) {
    weights.place_on(*part.device);
    PARLANCE_TRY(const RopeWeights rope, load_rope(weights, hp.rope, frequencies));
    w.rope.push_back(rope);
    for (int64_t layer = part.first_layer; layer < part.end_layer; ++layer) {
      PARLANCE_TRY(const TransformerLayer loaded, load_layer(weights, hp, variant, layer));
      w.layers.push_back(loaded);
    }
  }
  PARLANCE_TRY(w.output_norm, weights.vector("output_norm.weight", hp.n_embd));
  const GgufTensor* const output = weights.file().find_tensor("output.weight");
  PARLANCE_TRY(w.output, load_output(weights, hp, variant.may_classify && output ? output->ne[1] : n_vocab));

  PARLANCE_TRY(model->buffers_, std::move(weights).finish());
  return model;
}

}  // namespace parlance
