// Q4_1: 32 codes of 4 bits above a minimum. x = d * code + m.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ4_1 {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  f16_bits m;
  uint8_t q[16];  // byte j: value j in the low, value j + 16 in the high nibble
};
static_assert(sizeof(BlockQ4_1) == 20);

void decode(const BlockQ4_1& block, float* x);
void encode(const float* x, BlockQ4_1& block);

}  // namespace parlance
