// How long a language model takes from nothing to its first token.
#pragma once

#include "assistant/text_region.h"
#include "base/result.h"

namespace parlance {

struct LoadTimes {
  double load_ms = 0;         // map, check, point at weights, read the vocabulary
  double session_ms = 0;      // memory for context and workspace
  double first_token_ms = 0;  // of a prompt of one token
};

// Loads the model anew, on devices of its own.
Result<LoadTimes> time_loading(const Choice& choice, const OnRemark& on_remark);

}  // namespace parlance
