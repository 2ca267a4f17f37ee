// The language model of Qwen2-VL and Qwen2.5-VL (Wang et al., 2024): Qwen2 whose rotary positions come in
// sections, one after the other.
#pragma once

#include "models/model.h"

namespace parlance {

Architecture qwen2vl_architecture();

}  // namespace parlance
