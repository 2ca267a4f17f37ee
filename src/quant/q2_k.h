// Q2_K: 256 codes of 2 bits in 16 groups of 16, each with a 4-bit step and a 4-bit minimum.
// x = (d * step) * code - (dmin * minimum).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ2K {
  static constexpr int64_t kElements = 256;
  uint8_t scales[16];  // group g: step in the low, minimum in the high nibble
  uint8_t q[64];       // byte 32 * h + c, bits 2 * k..: value 128 * h + 32 * k + c
  f16_bits d;
  f16_bits dmin;
};
static_assert(sizeof(BlockQ2K) == 84);

void decode(const BlockQ2K& block, float* x);
void encode(const float* x, BlockQ2K& block);

}  // namespace parlance
