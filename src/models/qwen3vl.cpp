#include "models/qwen3vl.h"

#include "models/transformer.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_qwen3vl(const HyperParameters& hp, const Placement& placement,
                                            WeightLoader weights) {
  return Transformer::load(hp, placement, std::move(weights),
                           {.rope_style = RopeStyle::halves,
                            .has_qk_norm = true,
                            .has_rope_factors = false,
                            .may_classify = true});
}

}  // namespace parlance
