// tbq3_0 and tbq4_0 (TurboQuant, Zandieh et al., 2025): 32 values are multiplied with fixed signs, rotated by
// a Hadamard transform, and rounded to Lloyd-Max levels of a normal distribution, in steps of the block's
// root mean square. Stored values are those after the rotation: y = d * centroid.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockTbq3_0 {
  static constexpr int64_t kElements = 32;
  static constexpr int64_t kStored = 32;
  f16_bits d;
  uint8_t codes[12];  // code i: bits 3 i to 3 i + 2 of a little-endian integer
};
static_assert(sizeof(BlockTbq3_0) == 14);

struct [[gnu::packed]] BlockTbq4_0 {
  static constexpr int64_t kElements = 32;
  static constexpr int64_t kStored = 32;
  f16_bits d;
  uint8_t codes[16];  // byte j: value j in the low, value j + 16 in the high nibble
};
static_assert(sizeof(BlockTbq4_0) == 18);

void decode_stored(const BlockTbq3_0& block, float* y);
void decode_stored(const BlockTbq4_0& block, float* y);

// With the block's root mean square as the step.
void encode(const float* x, BlockTbq3_0& block);
void encode(const float* x, BlockTbq4_0& block);

// With the step of the least error.
void encode_searched(const float* x, BlockTbq3_0& block);
void encode_searched(const float* x, BlockTbq4_0& block);

}  // namespace parlance
