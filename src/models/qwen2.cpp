#include "models/qwen2.h"

#include "models/transformer.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_qwen2(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights) {
  return Transformer::load(
      hp, placement, std::move(weights),
      {.rope_style = RopeStyle::halves, .has_qk_norm = false, .has_rope_factors = false});
}

}  // namespace parlance
