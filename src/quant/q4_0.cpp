#include "quant/q4_0.h"

#include <algorithm>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockQ4_0& block, float* x) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(nibble(block.q, i) - 8);
}

// The value of largest magnitude becomes code 0, which reaches one step farther from 8 than code 15 does.
void encode(const float* x, BlockQ4_0& block) {
  const float d = largest_magnitude(x, 32) / -8;
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(std::min<int>(15, static_cast<int8_t>(truncate(x[i] * inverse + 8.5f))));
  }
  block.d = f16_from_f32(d);
  pack_nibbles(codes, block.q);
}

}  // namespace parlance
