#include "quant/q6_k.h"

#include <algorithm>
#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"
#include "quant/scale_search.h"

namespace parlance {

void decode(const BlockQ6K& block, float* x) {
  const float block_d = f32_from_f16(block.d);
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < 4; ++k) {
      const uint8_t* low = block.low + 64 * h + 32 * (k % 2);
      const uint8_t* high = block.high + 32 * h;
      for (int c = 0; c < 32; ++c) {
        const int code = ((low[c] >> (4 * (k / 2))) & 15) | ((high[c] >> (2 * k)) & 3) << 4;
        const float d = block_d * static_cast<float>(block.scales[8 * h + 2 * k + c / 16]);
        x[128 * h + 32 * k + c] = d * static_cast<float>(code - 32);
      }
    }
  }
}

void encode(const float* x, BlockQ6K& block) {
  uint8_t codes[256];
  float step[kGroups];
  for (int g = 0; g < kGroups; g += kSearchRuns) {
    search_signed_steps(x + kGroupLength * g, kGroupLength, 32, step + g, codes + kGroupLength * g);
  }
  const float largest = largest_magnitude(step, kGroups);
  if (std::fabs(largest) < kNegligible) {
    block = BlockQ6K{};
    return;
  }
  const float inverse = -128 / largest;
  block.d = f16_from_f32(1 / inverse);
  for (int g = 0; g < kGroups; ++g) {
    block.scales[g] = static_cast<int8_t>(std::min(127, round_to_even(inverse * step[g])));
    // Codes again, for the step that a decoder will see.
    const float d = f32_from_f16(block.d) * static_cast<float>(block.scales[g]);
    if (d == 0) continue;
    for (int i = kGroupLength * g; i < kGroupLength * (g + 1); ++i) {
      codes[i] = static_cast<uint8_t>(std::clamp(round_to_even(x[i] / d), -32, 31) + 32);
    }
  }
  for (int h = 0; h < 2; ++h) {
    const uint8_t* from = codes + 128 * h;
    for (int c = 0; c < 64; ++c) {
      block.low[64 * h + c] = static_cast<uint8_t>((from[c] & 15) | (from[c + 64] & 15) << 4);
    }
    for (int c = 0; c < 32; ++c) {
      block.high[32 * h + c] = static_cast<uint8_t>((from[c] >> 4) | (from[c + 32] >> 4) << 2 |
                                                    (from[c + 64] >> 4) << 4 | (from[c + 96] >> 4) << 6);
    }
  }
}

}  // namespace parlance
