// How a token will be drawn from the highest logits, for whoever cannot wait until a Sampler has done it.
#pragma once

#include <cstdint>

namespace parlance {

// Of a sampler without bias and penalties; the words of DrawTokensArgs in their order.
struct TokenDraw {
  float temperature = 0;  // 0: the first
  float top_p = 1;        // 1: off
  float min_p = 0;        // 0: off
  float random = 0;       // in [0, 1)
  int32_t top_k = 0;      // 0: off
};

}  // namespace parlance
