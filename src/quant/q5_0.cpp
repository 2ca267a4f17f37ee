#include "quant/q5_0.h"

#include <algorithm>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockQ5_0& block, float* x) {
  const float d = f32_from_f16(block.d);
  const uint32_t high = block.high;
  for (int i = 0; i < 32; ++i) {
    const int code = nibble(block.q, i) | static_cast<int>((high >> i) & 1) << 4;
    x[i] = d * static_cast<float>(code - 16);
  }
}

// The value of largest magnitude becomes code 0, which reaches one step farther from 16 than code 31 does.
void encode(const float* x, BlockQ5_0& block) {
  const float d = largest_magnitude(x, 32) / -16;
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(std::min<int>(31, static_cast<int8_t>(truncate(x[i] * inverse + 16.5f))));
  }
  block.d = f16_from_f32(d);
  block.high = pack_fifth_bits(codes);
  pack_nibbles(codes, block.q);
}

}  // namespace parlance
