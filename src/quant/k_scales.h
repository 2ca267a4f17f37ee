// The steps and minimums of Q4_K and Q5_K: eight of each, 6 bits wide, in 12 bytes.
#pragma once

#include <cstdint>

namespace parlance {

struct KScales {
  uint8_t step[8];     // 0..63
  uint8_t minimum[8];  // 0..63
};

inline KScales unpack_k_scales(const uint8_t packed[12]) {
  KScales scales;
  for (int j = 0; j < 4; ++j) {
    scales.step[j] = packed[j] & 63;
    scales.minimum[j] = packed[j + 4] & 63;
    scales.step[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
    scales.minimum[j + 4] = static_cast<uint8_t>((packed[j + 8] >> 4) | (packed[j + 4] >> 6) << 4);
  }
  return scales;
}

inline void pack_k_scales(const KScales& scales, uint8_t packed[12]) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(scales.step[j] | (scales.step[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(scales.minimum[j] | (scales.minimum[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((scales.step[j + 4] & 15) | (scales.minimum[j + 4] & 15) << 4);
  }
}

}  // namespace parlance
