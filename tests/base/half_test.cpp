#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace parlance {
namespace {

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}
float f32(uint32_t value) {
  return std::bit_cast<float>(value);
}

// Every 16-bit pattern as the definition of the format has it, in double precision, which holds all of them.
TEST(Half, F16ToF32Everywhere) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = f32_from_f16(static_cast<f16_bits>(half));
    const double sign = half & 0x8000 ? -1.0 : 1.0;
    const int exponent = static_cast<int>(half >> 10 & 31);
    const int mantissa = static_cast<int>(half & 0x3ff);
    EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << half;
    if (exponent == 31 && mantissa != 0) {
      EXPECT_EQ(bits(value) & 0x7fffffff, 0x7fc00000u | static_cast<uint32_t>(mantissa) << 13) << half;
    } else if (exponent == 31) {
      EXPECT_EQ(value, sign * std::numeric_limits<double>::infinity()) << half;
    } else if (exponent == 0) {
      EXPECT_EQ(value, sign * std::ldexp(mantissa, -24)) << half;
    } else {
      EXPECT_EQ(value, sign * std::ldexp(1024 + mantissa, exponent - 25)) << half;
    }
  }
}

TEST(Half, F16ThereAndBack) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const bool is_nan = (half & 0x7fff) > 0x7c00;
    const uint32_t expected = is_nan ? half | 0x200 : half;  // a signalling NaN is made quiet
    EXPECT_EQ(f16_from_f32(f32_from_f16(static_cast<f16_bits>(half))), expected) << half;
  }
}

// Rounding at every boundary between two neighbours, subnormal ones and the one to infinity among them: the
// middle goes to the even one, the next floats on both sides of it to the nearer one.
TEST(Half, F32ToF16RoundsToNearestEven) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const float below = f32_from_f16(static_cast<f16_bits>(half));
    const float above = half == 0x7bff ? 65536.0f : f32_from_f16(static_cast<f16_bits>(half + 1));
    const float middle = (below + above) / 2;  // exact
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      EXPECT_EQ(f16_from_f32(s * middle), sign | (half + (half & 1))) << half;
      EXPECT_EQ(f16_from_f32(s * std::nextafter(middle, below)), sign | half) << half;
      EXPECT_EQ(f16_from_f32(s * std::nextafter(middle, above)), sign | (half + 1)) << half;
    }
  }
}

TEST(Half, F32ToF16AtTheEnds) {
  EXPECT_EQ(f16_from_f32(0.0f), 0);
  EXPECT_EQ(f16_from_f32(-0.0f), 0x8000);
  EXPECT_EQ(f16_from_f32(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f16_from_f32(-std::numeric_limits<float>::min()), 0x8000);
  EXPECT_EQ(f16_from_f32(65504.0f), 0x7bff);
  EXPECT_EQ(f16_from_f32(65519.996f), 0x7bff);
  EXPECT_EQ(f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_f32(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f16_from_f32(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f16_from_f32(f32(0x7fc00000)), 0x7e00);
  EXPECT_EQ(f16_from_f32(f32(0xffffe000)), 0xffff);
  EXPECT_EQ(f16_from_f32(f32(0x7f800001)), 0x7e00) << "a NaN whose payload is cut stays a NaN";
  EXPECT_EQ(f16_from_f32(f32(0x7f802000)), 0x7e01);
}

TEST(Half, Bf16ToF32Everywhere) {
  for (uint32_t half = 0; half < 65536; ++half) {
    EXPECT_EQ(bits(f32_from_bf16(static_cast<bf16_bits>(half))), half << 16);
  }
}

TEST(Half, F32ToBf16RoundsToNearestEven) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const uint32_t exact = half << 16;
    if ((half & 0x7fff) >= 0x7f80) continue;  // infinity and NaN
    EXPECT_EQ(bf16_from_f32(f32(exact)), half);
    EXPECT_EQ(bf16_from_f32(f32(exact | 0x7fff)), half);
    EXPECT_EQ(bf16_from_f32(f32(exact | 0x8000)), half + (half & 1));
    EXPECT_EQ(bf16_from_f32(f32(exact | 0x8001)), half + 1);
    EXPECT_EQ(bf16_from_f32(f32(exact | 0xffff)), half + 1);
  }
}

TEST(Half, F32ToBf16AtTheEnds) {
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_from_f32(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(bf16_from_f32(f32(0x7f800001)), 0x7fc0) << "a NaN whose payload is cut stays a NaN";
  EXPECT_EQ(bf16_from_f32(f32(0xffffffff)), 0xffff);
  EXPECT_EQ(bf16_from_f32(f32(0x7fff8000)), 0x7fff) << "a NaN is not rounded";
}

}  // namespace
}  // namespace parlance
