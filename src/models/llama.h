// Llama 2 and 3.x (Touvron et al., 2023; Llama Team, 2024): neighbours rotated, optional frequency factors.
#pragma once

#include "models/model.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_llama(const HyperParameters& hp, const Placement& placement,
                                          WeightLoader weights);

}  // namespace parlance
