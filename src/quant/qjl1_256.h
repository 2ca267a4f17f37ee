// qjl1_256: the signs of 256 gaussian projections of 128 values, and their length (QJL, Zandieh et al.,
// 2024). Stored values are length * sign, 256 of them; see sketch.h for how they are read.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQjl1_256 {
  static constexpr int64_t kElements = 128;
  static constexpr int64_t kStored = 256;
  uint8_t signs[32];  // bit j % 8 of byte j / 8: projection j is above zero
  bf16_bits norm;
};
static_assert(sizeof(BlockQjl1_256) == 34);

void decode_stored(const BlockQjl1_256& block, float* y);
void encode(const float* x, BlockQjl1_256& block);

}  // namespace parlance
