// Qwen3 (Qwen Team, 2025), dense: norms on each query and key head, halves rotated.
#pragma once

#include "models/model.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_qwen3(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights);

}  // namespace parlance
