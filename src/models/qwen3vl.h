// The language model of Qwen3-VL (Qwen Team, 2025) and of Qwen3-ASR: Qwen3 whose rotary positions come in
// sections.
#pragma once

#include "models/model.h"

namespace parlance {

Result<std::unique_ptr<Model>> load_qwen3vl(const HyperParameters& hp, const Placement& placement,
                                            WeightLoader weights);

}  // namespace parlance
