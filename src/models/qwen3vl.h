// The language model of Qwen3-VL (Qwen Team, 2025) and of Qwen3-ASR: Qwen3 whose rotary positions come in
// sections, and whose first layers images may reach directly (deepstack).
#pragma once

#include "models/model.h"

namespace parlance {

Architecture qwen3vl_architecture();

}  // namespace parlance
