// Qwen2 and Qwen2.5 (Qwen Team, 2024), dense: biases on q, k and v, halves rotated.
#pragma once

#include "models/model.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_qwen2(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights);

}  // namespace parlance
