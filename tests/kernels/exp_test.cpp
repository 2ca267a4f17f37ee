// The vector exponential against the library's in double precision, over all of the floats.
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

constexpr int kNumbers = 16;
using ExpOf16 = void(const float* x, float* y);

#if PARLANCE_X86
PARLANCE_AVX2 void exp_avx2(const float* x, float* y) {
  using L = simd::Avx2;
  for (int i = 0; i < kNumbers; i += L::kWidth) L::store(y + i, L::exp(L::load(x + i)));
}
PARLANCE_AVX512 void exp_avx512(const float* x, float* y) {
  simd::Avx512::store(y, simd::Avx512::exp(simd::Avx512::load(x)));
}
#elif PARLANCE_NEON
void exp_neon(const float* x, float* y) {
  using L = simd::Neon;
  for (int i = 0; i < kNumbers; i += L::kWidth) L::store(y + i, L::exp(L::load(x + i)));
}
#endif

ExpOf16* exp_of(Isa isa) {
  switch (isa) {
#if PARLANCE_X86
    case Isa::avx2:
      return exp_avx2;
    case Isa::avx512:
      return exp_avx512;
#elif PARLANCE_NEON
    case Isa::neon:
      return exp_neon;
#endif
    default:
      return nullptr;
  }
}

// Distance in units in the last place of the nearest float to the true value.
double error_in_units(float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : 1e9;
  const float next = std::nextafter(nearest, std::numeric_limits<float>::infinity());
  const double unit = std::isinf(next) ? 0x1p104 : static_cast<double>(next) - static_cast<double>(nearest);
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

TEST(Exp, IsWithinOneUnitForEveryFloat) {
  constexpr uint64_t kStride = 499;  // a prime, so that every exponent and low bit is met
  for (const Isa isa : available_isas()) {
    ExpOf16* const exp16 = exp_of(isa);
    if (!exp16) continue;
    double worst = 0;
    float worst_x = 0;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kNumbers * kStride) {
      float x[kNumbers], y[kNumbers];
      for (uint64_t i = 0; i < kNumbers; ++i)
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * kStride));
      exp16(x, y);
      for (int i = 0; i < kNumbers; ++i) {
        const double error = std::isnan(x[i]) ? (std::isnan(y[i]) ? 0 : 1e9)
                                              : error_in_units(y[i], std::exp(static_cast<double>(x[i])));
        if (error > worst) worst = error, worst_x = x[i];
      }
    }
    EXPECT_LT(worst, 1) << name_of(isa) << " at " << worst_x;
  }
}

}  // namespace
}  // namespace parlance
