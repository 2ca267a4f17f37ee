// Q4_K: 256 codes of 4 bits in 8 runs of 32, each with a 6-bit step and a 6-bit minimum.
// x = (d * step) * code - (dmin * minimum).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ4K {
  static constexpr int64_t kElements = 256;
  f16_bits d;
  f16_bits dmin;
  uint8_t scales[12];  // see k_scales.h
  uint8_t q[128];  // byte 32 * p + c: value c of run 2 * p in the low, of run 2 * p + 1 in the high nibble
};
static_assert(sizeof(BlockQ4K) == 144);

void decode(const BlockQ4K& block, float* x);
void encode(const float* x, BlockQ4K& block);

}  // namespace parlance
