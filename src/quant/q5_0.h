// Q5_0: 32 codes of 5 bits around 16. x = d * (code - 16).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ5_0 {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  uint32_t high;  // bit i: bit 4 of the code of value i
  uint8_t q[16];  // byte j: low four bits of value j in the low, of value j + 16 in the high nibble
};
static_assert(sizeof(BlockQ5_0) == 22);

void decode(const BlockQ5_0& block, float* x);
void encode(const float* x, BlockQ5_0& block);

}  // namespace parlance
