// Q3_K: 256 codes of 3 bits around 4 in 16 groups of 16, each with a 6-bit step around 32.
// x = (d * (step - 32)) * (code - 4).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ3K {
  static constexpr int64_t kElements = 256;
  uint8_t high[32];    // byte c, bit 4 * h + k: bit 2 of the code of value 128 * h + 32 * k + c
  uint8_t q[64];       // byte 32 * h + c, bits 2 * k..: low two bits of value 128 * h + 32 * k + c
  uint8_t scales[12];  // group g: low four bits in nibble g / 8 of byte g % 8, high two in byte 8 + g % 4 at
                       // 2 * (g / 4)
  f16_bits d;
};
static_assert(sizeof(BlockQ3K) == 110);

// The step of group g, -32..31.
inline int step_of(const BlockQ3K& block, int g) {
  const int low = (block.scales[g % 8] >> (4 * (g / 8))) & 15;
  const int high = (block.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
  return (low | high << 4) - 32;
}

void decode(const BlockQ3K& block, float* x);
void encode(const float* x, BlockQ3K& block);

}  // namespace parlance
