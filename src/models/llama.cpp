#include "models/llama.h"

#include "models/transformer.h"

namespace parlance {

namespace {

Result<std::unique_ptr<Model>> load_llama(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights) {
  // The converter orders the rows of q and k so that neighbours form a pair.
  return Transformer::load(
      hp, placement, std::move(weights),
      {.rope_style = RopeStyle::neighbours, .has_qk_norm = false, .has_rope_factors = true});
}

}  // namespace

Architecture llama_architecture() {
  return {"llama", read_common_parameters, load_llama};
}

}  // namespace parlance
