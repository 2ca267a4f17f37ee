// Vectors of signs that the cache formats multiply with. Their one home: bit k of byte b is 1 where element
// 8 b + k is +1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace parlance {

template <size_t n>
constexpr std::array<float, n> unpack_signs(const std::array<uint8_t, n / 8>& packed) {
  std::array<float, n> signs{};
  for (size_t i = 0; i < n; ++i) signs[i] = (packed[i / 8] >> (i % 8)) & 1 ? 1.0f : -1.0f;
  return signs;
}

// tbq3_0 and tbq4_0, before the Hadamard transform of 32.
inline constexpr std::array<float, 32> kSigns32 = unpack_signs<32>({0x2d, 0x4b, 0x96, 0xa5});

// tbq3_tcq, before and after the Hadamard transform of 128.
inline constexpr std::array<float, 128> kSigns128Before = unpack_signs<128>(
    {0xa6, 0xfc, 0x95, 0x1b, 0xb6, 0xa6, 0x07, 0xbd, 0x44, 0xc4, 0x39, 0x5b, 0x56, 0xaf, 0x0d, 0xb6});
inline constexpr std::array<float, 128> kSigns128After = unpack_signs<128>(
    {0x6f, 0x11, 0x53, 0xe9, 0x23, 0x70, 0x9d, 0xc0, 0x85, 0xca, 0x5a, 0x48, 0x9d, 0x9a, 0x5a, 0x41});

// The direction of q4_polar's residual: the lowest bits of xorshift32 from 42.
inline constexpr std::array<float, 128> kPolarResidual = unpack_signs<128>(
    {0x04, 0xcb, 0x34, 0x3a, 0x54, 0xe8, 0xcb, 0xa3, 0xf5, 0x10, 0x79, 0xda, 0xb1, 0x26, 0x25, 0x97});

}  // namespace parlance
