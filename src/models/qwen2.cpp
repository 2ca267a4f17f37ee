#include "models/qwen2.h"

#include "models/transformer.h"

namespace parlance {

namespace {

Result<std::unique_ptr<Model>> load_qwen2(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights) {
  return Transformer::load(
      hp, placement, std::move(weights),
      {.rope_style = RopeStyle::halves, .has_qk_norm = false, .has_rope_factors = false});
}

}  // namespace

Architecture qwen2_architecture() {
  return {"qwen2", read_common_parameters, load_qwen2};
}

}  // namespace parlance
