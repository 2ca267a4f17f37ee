// Llama 2 and 3.x (Touvron et al., 2023; Llama Team, 2024): neighbours rotated, optional frequency factors.
#pragma once

#include "models/model.h"

namespace parlance {

Architecture llama_architecture();

}  // namespace parlance
