// Packed rows in f32 and sums over them, for every instruction set as attention's kernels are (see
// attention/rows.simd.h), by which they are loaded.

using attention::Tile;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // attention's queries have no place here
#include "kernels/cpu/attention/rows.simd.h"
#pragma GCC diagnostic pop

#include "kernels/cpu/attention/compressed_rows.simd.h"

template <class Rows>
PARLANCE_SIMD void decode(const std::byte* row, float* values, int64_t n) {
  constexpr int64_t kStep = Rows::kVectors * kWidth;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    F x[Rows::kVectors];
    Rows::load(row, i, x);
#pragma GCC unroll 8
    for (int v = 0; v < Rows::kVectors; ++v) Lanes::store(values + i + v * kWidth, x[v]);
  }
  if (i < n) Lanes::store_first(values + i, Rows::load_first(row, i, n - i), n - i);
}

PARLANCE_SIMD float dot(const float* a, const float* b, int64_t n) {
  F sum = Lanes::zero();
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) sum = Lanes::multiply_add(Lanes::load(a + i), Lanes::load(b + i), sum);
  if (i < n) sum = Lanes::multiply_add(Lanes::load_first(a + i, n - i), Lanes::load_first(b + i, n - i), sum);
  return Lanes::sum(sum);
}

PARLANCE_SIMD void accumulate(float* sums, float factor, float weight, const float* x, int64_t n) {
  const F f = Lanes::broadcast(factor), w = Lanes::broadcast(weight);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    Lanes::store(sums + i,
                 Lanes::multiply_add(w, Lanes::load(x + i), Lanes::multiply(f, Lanes::load(sums + i))));
  }
  if (i < n) {
    const F before = Lanes::multiply(f, Lanes::load_first(sums + i, n - i));
    Lanes::store_first(sums + i, Lanes::multiply_add(w, Lanes::load_first(x + i, n - i), before), n - i);
  }
}

PARLANCE_SIMD float weigh(float* scores, int64_t n, float largest) {
  const F shift = Lanes::broadcast(largest);
  float sum = 0;
  for (int64_t i = 0; i < n; i += kWidth) {
    const int64_t n_left = n - i < kWidth ? n - i : kWidth;
    float weights[kWidth] = {};
    for (int64_t j = 0; j < n_left; ++j) weights[j] = scores[i + j];
    Lanes::store(weights, Lanes::exp(Lanes::subtract(Lanes::load(weights), shift)));
    for (int64_t j = 0; j < n_left; ++j) sum += scores[i + j] = weights[j];
  }
  return sum;
}

// In the order of KvFormat.
constexpr Kernels kernels_for(Isa isa) {
  return {
      isa,
      {decode<F32Rows>, decode<F16Rows>, decode<Bf16Rows>, decode<Q8Rows>, decode<Q4Rows>, decode<Tbq3Rows>,
       decode<Tbq4Rows>, decode<TcqRows>, decode<QjlRows>, decode<PolarRows<false>>, decode<PolarRows<true>>},
      dot,
      accumulate,
      weigh};
}
