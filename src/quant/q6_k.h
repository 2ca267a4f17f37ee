// Q6_K: 256 codes of 6 bits around 32 in 16 groups of 16, each with a signed 8-bit step.
// x = (d * step) * (code - 32).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ6K {
  static constexpr int64_t kElements = 256;
  uint8_t
      low[128];  // byte 64 * h + 32 * (k % 2) + c, nibble k / 2: low four bits of value 128 * h + 32 * k + c
  uint8_t high[64];   // byte 32 * h + c, bits 2 * k..: high two bits of value 128 * h + 32 * k + c
  int8_t scales[16];  // group g holds values 16 * g ..
  f16_bits d;
};
static_assert(sizeof(BlockQ6K) == 210);

void decode(const BlockQ6K& block, float* x);
void encode(const float* x, BlockQ6K& block);

}  // namespace parlance
