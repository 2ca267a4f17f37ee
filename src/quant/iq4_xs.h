// IQ4_XS: 256 codes of 4 bits into the table of IQ4_NL, in 8 runs of 32 with a 6-bit step around 32.
// x = (d * (step - 32)) * table[code].
#pragma once

#include <cstdint>

#include "base/half.h"
#include "quant/iq4_nl.h"

namespace parlance {

struct [[gnu::packed]] BlockIq4Xs {
  static constexpr int64_t kElements = 256;
  f16_bits d;
  uint16_t scales_high;   // bits 2 * r..: high two bits of the step of run r
  uint8_t scales_low[4];  // nibble r % 2 of byte r / 2: low four bits of the step of run r
  uint8_t q[128];         // byte 16 * r + j: value j of run r in the low, value j + 16 in the high nibble
};
static_assert(sizeof(BlockIq4Xs) == 136);

// The step of run r, -32..31.
inline int step_of(const BlockIq4Xs& block, int r) {
  const int low = (block.scales_low[r / 2] >> (4 * (r % 2))) & 15;
  const int high = (block.scales_high >> (2 * r)) & 3;
  return (low | high << 4) - 32;
}

void decode(const BlockIq4Xs& block, float* x);
void encode(const float* x, BlockIq4Xs& block);

}  // namespace parlance
