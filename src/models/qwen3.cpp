#include "models/qwen3.h"

#include "models/transformer.h"

namespace parlance {

namespace {

Result<std::unique_ptr<Model>> load_qwen3(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights) {
  return Transformer::load(hp, placement, std::move(weights),
                           {.rope_style = RopeStyle::halves, .has_qk_norm = true, .has_rope_factors = false});
}

}  // namespace

Architecture qwen3_architecture() {
  return {"qwen3", read_common_parameters, load_qwen3};
}

}  // namespace parlance
