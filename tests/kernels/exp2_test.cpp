// The powers of 2 of attention's softmax against the library's in double precision, for all x <= 0.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/neon.h"

namespace parlance {
namespace {

constexpr int kFloats = 16;
using Exp2Of16 = void(const float* x, float* y);

#if PARLANCE_X86
PARLANCE_AVX2 void exp2_avx2(const float* x, float* y) {
  using L = simd::Avx2;
  for (int i = 0; i < kFloats; i += L::kWidth) L::store(y + i, L::exp2(L::load(x + i)));
}
PARLANCE_AVX512 void exp2_avx512(const float* x, float* y) {
  simd::Avx512::store(y, simd::Avx512::exp2(simd::Avx512::load(x)));
}
#elif PARLANCE_NEON
void exp2_neon(const float* x, float* y) {
  using L = simd::Neon;
  for (int i = 0; i < kFloats; i += L::kWidth) L::store(y + i, L::exp2(L::load(x + i)));
}
#endif

Exp2Of16* exp2_of(Isa isa) {
  switch (isa) {
#if PARLANCE_X86
    case Isa::avx2:
      return exp2_avx2;
    case Isa::avx512:
      return exp2_avx512;
#elif PARLANCE_NEON
    case Isa::neon:
      return exp2_neon;
#endif
    default:
      return nullptr;
  }
}

TEST(Exp2, IsExactToTwoInTenMillion) {
  constexpr uint32_t kStride = 499;  // a prime, so that every exponent and low bit is met
  constexpr float kLeast = 0x1p-126f;
  for (const Isa isa : available_isas()) {
    Exp2Of16* const exp2_16 = exp2_of(isa);
    if (!exp2_16) continue;
    double worst = 0;
    for (uint64_t bits = 0x80000000; bits < 0xff800000; bits += kFloats * kStride) {
      float x[kFloats], y[kFloats];
      for (uint64_t i = 0; i < kFloats; ++i) {
        x[i] =
            std::bit_cast<float>(static_cast<uint32_t>(std::min<uint64_t>(bits + i * kStride, 0xff800000)));
      }
      exp2_16(x, y);
      for (int i = 0; i < kFloats; ++i) {
        const double exact = std::max<double>(std::exp2(static_cast<double>(x[i])), kLeast);
        worst = std::max(worst, std::fabs(y[i] - exact) / exact);
      }
    }
    EXPECT_LT(worst, 2e-7) << name_of(isa);
  }
}

TEST(Exp2, KeepsOneAndNaN) {
  for (const Isa isa : available_isas()) {
    Exp2Of16* const exp2_16 = exp2_of(isa);
    if (!exp2_16) continue;
    float x[kFloats] = {0}, y[kFloats];
    // NaN of either sign, whatever its other bits are.
    for (uint32_t i = 1; i < kFloats; ++i)
      x[i] = std::bit_cast<float>((i % 2 << 31) + 0x7fc00000 + (i / 2) * 0x5ffff);
    x[15] = std::bit_cast<float>(~0u);
    exp2_16(x, y);
    EXPECT_EQ(y[0], 1) << name_of(isa);
    for (int i = 1; i < kFloats; ++i) EXPECT_TRUE(std::isnan(y[i])) << name_of(isa) << ", NaN " << i;
  }
}

}  // namespace
}  // namespace parlance
