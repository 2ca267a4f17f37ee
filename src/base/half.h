// Conversions between f32 and the 16-bit float formats, bit for bit as the hardware does them:
// round to nearest even, subnormals kept, overflow to infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace parlance {

using f16_bits = uint16_t;
using bf16_bits = uint16_t;

inline float f32_from_bf16(bf16_bits bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline bf16_bits bf16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<bf16_bits>((bits >> 16) | 64);  // quiet the NaN
  return static_cast<bf16_bits>((bits + (0x7fff + ((bits >> 16) & 1))) >> 16);
}

inline float f32_from_f16(f16_bits half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) {  // infinity, or a NaN, which is made quiet
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa ? 0x400000 : 0) | mantissa << 13);
  }
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24 is exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline f16_bits f16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<f16_bits>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<f16_bits>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<f16_bits>(sign | 0x7c00);  // rounds to 65536 or more
  if (magnitude < 0x38800000) {  // subnormal half: add a number whose unit in the last place is 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<f16_bits>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<f16_bits>(sign | (rounded >> 13));
}

}  // namespace parlance
