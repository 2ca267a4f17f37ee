// Q5_1: 32 codes of 5 bits above a minimum. x = d * code + m.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ5_1 {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  f16_bits m;
  uint32_t high;  // bit i: bit 4 of the code of value i
  uint8_t q[16];  // byte j: low four bits of value j in the low, of value j + 16 in the high nibble
};
static_assert(sizeof(BlockQ5_1) == 24);

void decode(const BlockQ5_1& block, float* x);
void encode(const float* x, BlockQ5_1& block);

}  // namespace parlance
