#include "quant/q3_k.h"

#include <algorithm>

#include "quant/block32.h"
#include "quant/rounding.h"
#include "quant/scale_search.h"
#include "quant/two_bit_codes.h"

namespace parlance {

void decode(const BlockQ3K& block, float* x) {
  const float block_d = f32_from_f16(block.d);
  for (int g = 0; g < kGroups; ++g) {
    const float d = block_d * static_cast<float>(step_of(block, g));
    for (int i = kGroupLength * g; i < kGroupLength * (g + 1); ++i) {
      const int code = two_bits(block.q, i) | ((block.high[i % 32] >> (i / 32)) & 1) << 2;
      x[i] = d * static_cast<float>(code - 4);
    }
  }
}

void encode(const float* x, BlockQ3K& block) {
  uint8_t codes[256];
  float step[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    step[g] = refine_signed_step(x + kGroupLength * g, kGroupLength, 4, codes + kGroupLength * g);
  }
  block = BlockQ3K{};
  const float largest = largest_magnitude(step, kGroups);
  if (largest != 0) {
    const float inverse = -32 / largest;
    block.d = f16_from_f32(1 / inverse);
    for (int g = 0; g < kGroups; ++g) {
      const int code = std::clamp(round_to_even(inverse * step[g]), -32, 31) + 32;
      block.scales[g % 8] = static_cast<uint8_t>(block.scales[g % 8] | (code & 15) << (4 * (g / 8)));
      block.scales[8 + g % 4] = static_cast<uint8_t>(block.scales[8 + g % 4] | (code >> 4) << (2 * (g / 4)));
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    // Codes again, for the step that a decoder will see.
    const float d = f32_from_f16(block.d) * static_cast<float>(step_of(block, g));
    if (d == 0) continue;
    for (int i = kGroupLength * g; i < kGroupLength * (g + 1); ++i) {
      codes[i] = static_cast<uint8_t>(std::clamp(round_to_even(x[i] / d), -4, 3) + 4);
    }
  }
  pack_two_bits(codes, block.q);
  for (int i = 0; i < 256; ++i) {
    block.high[i % 32] = static_cast<uint8_t>(block.high[i % 32] | (codes[i] >> 2) << (i / 32));
  }
}

}  // namespace parlance
