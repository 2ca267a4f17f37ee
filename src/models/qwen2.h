// Qwen2 and Qwen2.5 (Qwen Team, 2024), dense: biases on q, k and v, halves rotated.
#pragma once

#include "models/model.h"

namespace parlance {

Architecture qwen2_architecture();

}  // namespace parlance
