// Q8_0: 32 signed bytes and their step. x = d * q.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ8_0 {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

void decode(const BlockQ8_0& block, float* x);
void encode(const float* x, BlockQ8_0& block);

}  // namespace parlance
