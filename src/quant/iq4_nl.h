// IQ4_NL: 32 codes of 4 bits into a table of 16 unevenly spaced values. x = d * table[code].
#pragma once

#include <array>
#include <cstdint>

#include "base/half.h"

namespace parlance {

// Denser around zero, where weights are; shared with IQ4_XS.
inline constexpr std::array<int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};

struct [[gnu::packed]] BlockIq4Nl {
  static constexpr int64_t kElements = 32;
  f16_bits d;
  uint8_t q[16];  // byte j: value j in the low, value j + 16 in the high nibble
};
static_assert(sizeof(BlockIq4Nl) == 18);

void decode(const BlockIq4Nl& block, float* x);
void encode(const float* x, BlockIq4Nl& block);

}  // namespace parlance
