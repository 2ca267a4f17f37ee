#include "quant/q4_1.h"

#include <algorithm>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockQ4_1& block, float* x) {
  const float d = f32_from_f16(block.d);
  const float m = f32_from_f16(block.m);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(nibble(block.q, i)) + m;
}

void encode(const float* x, BlockQ4_1& block) {
  const auto [m, highest] = range_of(x, 32);
  const float d = (highest - m) / 15;
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    codes[i] =
        static_cast<uint8_t>(std::min<int>(15, static_cast<int8_t>(truncate((x[i] - m) * inverse + 0.5f))));
  }
  block.d = f16_from_f32(d);
  block.m = f16_from_f32(m);
  pack_nibbles(codes, block.q);
}

}  // namespace parlance
