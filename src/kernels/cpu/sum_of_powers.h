// What softmax divides by, for a row of logits.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"

namespace parlance {

using SumOfPowers = float(const float* x, int64_t n, float largest);  // of e^(x - largest)

inline float sum_of_powers_scalar(const float* x, int64_t n, float largest) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i] - largest));
  return static_cast<float>(sum);
}

#if PARLANCE_X86
PARLANCE_AVX2 inline float sum_of_powers_avx2(const float* x, int64_t n, float largest) {
  using L = simd::Avx2;
  L::F sums = L::zero();
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth)
    sums = L::add(sums, L::exp(L::subtract(L::load(x + i), L::broadcast(largest))));
  float lanes[L::kWidth];
  L::store(lanes, sums);
  return std::accumulate(lanes, lanes + L::kWidth, sum_of_powers_scalar(x + i, n - i, largest));
}

PARLANCE_AVX512 inline float sum_of_powers_avx512(const float* x, int64_t n, float largest) {
  using L = simd::Avx512;
  L::F sums = L::zero();
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth)
    sums = L::add(sums, L::exp(L::subtract(L::load(x + i), L::broadcast(largest))));
  float lanes[L::kWidth];
  L::store(lanes, sums);
  return std::accumulate(lanes, lanes + L::kWidth, sum_of_powers_scalar(x + i, n - i, largest));
}
#endif

}  // namespace parlance
