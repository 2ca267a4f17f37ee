// Qwen3 (Qwen Team, 2025), dense: norms on each query and key head, halves rotated.
#pragma once

#include "models/model.h"

namespace parlance {

Architecture qwen3_architecture();

}  // namespace parlance
