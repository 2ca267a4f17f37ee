// Q4_0: 32 codes of 4 bits around 8. x = d * (code - 8).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ4_0 {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  uint8_t q[16];  // byte j: value j in the low, value j + 16 in the high nibble
};
static_assert(sizeof(BlockQ4_0) == 18);

void decode(const BlockQ4_0& block, float* x);
void encode(const float* x, BlockQ4_0& block);

// With the step of the least error, for caches; the bytes of a weight are those of encode().
void encode_searched(const float* x, BlockQ4_0& block);

}  // namespace parlance
