#include "quant/q4_0.h"

#include <algorithm>
#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockQ4_0& block, float* x) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(nibble(block.q, i) - 8);
}

// The value of largest magnitude becomes code 0, which reaches one step farther from 8 than code 15 does.
void encode(const float* x, BlockQ4_0& block) {
  const float d = step_or_nan(largest_magnitude(x, 32) / -8, x, 32);
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(std::min<int>(15, static_cast<int8_t>(truncate(x[i] * inverse + 8.5f))));
  }
  block.d = f16_from_f32(d);
  pack_nibbles(codes, block.q);
}

// The step that fits the codes of each candidate best; the least error leaves the largest gain.
void encode_searched(const float* x, BlockQ4_0& block) {
  constexpr int kCandidates = 9;
  const float whole = step_or_nan(largest_magnitude(x, 32) / -8, x, 32);
  float best_gain = 0, best_step = whole;
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const float step = whole * (0.7f + 0.05f * static_cast<float>(candidate));
    if (step == 0) break;
    float product = 0, squares = 0;
    for (int i = 0; i < 32; ++i) {
      const float code = std::clamp(std::nearbyint(x[i] / step), -8.0f, 7.0f);
      product += x[i] * code;
      squares += code * code;
    }
    if (squares > 0 && product * product / squares > best_gain) {
      best_gain = product * product / squares;
      best_step = product / squares;
    }
  }
  block.d = f16_from_f32(best_step);
  const float d = f32_from_f16(block.d);
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    const float code = std::clamp(std::nearbyint(x[i] * inverse), -8.0f, 7.0f);
    codes[i] = static_cast<uint8_t>(static_cast<int>(code == code ? code : 0) + 8);
  }
  pack_nibbles(codes, block.q);
}

}  // namespace parlance
