// Where Q2_K and Q3_K keep the low two bits of 256 codes: byte 32 * h + c, bits 2 * k.., belongs to value
// 128 * h + 32 * k + c.
#pragma once

#include <cstdint>

namespace parlance {

inline int two_bits(const uint8_t* q, int i) {
  return (q[32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4))) & 3;
}

inline void pack_two_bits(const uint8_t* codes, uint8_t* q) {
  for (int h = 0; h < 2; ++h) {
    const uint8_t* from = codes + 128 * h;
    for (int c = 0; c < 32; ++c) {
      q[32 * h + c] = static_cast<uint8_t>((from[c] & 3) | (from[c + 32] & 3) << 2 | (from[c + 64] & 3) << 4 |
                                           (from[c + 96] & 3) << 6);
    }
  }
}

}  // namespace parlance
