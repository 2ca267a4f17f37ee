// Integer products of runs, scaled and added up in f32 one after the other, as the kernels on tensor cores
// do: their sums are the same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/matmul/mma.cuh"

namespace parlance::cuda {

// Integer sums start at the bits of 1.5 * 2^23, where a unit is the last bit of a float: read as a float,
// less that number, they are converted exactly (they stay below 2^21).
inline constexpr float kIntegerZero = 12582912.0f;

// What is taken off the sums of this lane's two tokens: more where codes of weights are too much by the same
// number, which is exact, too.
struct IntegerZeros {
  float first = kIntegerZero, second = kIntegerZero;
};

// acc (16 rows, 8 tokens) += integer sums * steps of the weights * steps of the activations.
__device__ inline void add_scaled(float (&acc)[4], const int (&sums)[4], const float (&w)[2], const float2& x,
                                  const IntegerZeros& zeros) {
  acc[0] = fmaf(__int_as_float(sums[0]) - zeros.first, w[0] * x.x, acc[0]);
  acc[1] = fmaf(__int_as_float(sums[1]) - zeros.second, w[0] * x.y, acc[1]);
  acc[2] = fmaf(__int_as_float(sums[2]) - zeros.first, w[1] * x.x, acc[2]);
  acc[3] = fmaf(__int_as_float(sums[3]) - zeros.second, w[1] * x.y, acc[3]);
}

__device__ inline void add_minimums(float (&acc)[4], const float (&w)[2], float x0, float x1) {
  acc[0] = fmaf(w[0], x0, acc[0]);
  acc[1] = fmaf(w[0], x1, acc[1]);
  acc[2] = fmaf(w[1], x0, acc[2]);
  acc[3] = fmaf(w[1], x1, acc[3]);
}

// acc += the products of a run, or of its halves, of 16 rows and 8 tokens. a, b: its codes, as tensor cores
// take them; step, minimum: of each half and of rows g and g + 8; x_steps: of this lane's two tokens; x_sums:
// see GemmActivations, of both halves of the one, then of the other.
template <class Type>
__device__ void add_run(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                        const float (&step)[Type::kHalves ? 2 : 1][2],
                        const float (&minimum)[Type::kHalves ? 2 : 1][2], const float2& x_steps,
                        const float4& x_sums, const IntegerZeros& zeros = {}) {
  const int zero = __float_as_int(kIntegerZero);
  int sums[4];
  if constexpr (Type::kHalves) {
    multiply_s8(sums, zero, a[0], a[1], b0);
    add_scaled(acc, sums, step[0], x_steps, zeros);
    multiply_s8(sums, zero, a[2], a[3], b1);
    add_scaled(acc, sums, step[1], x_steps, zeros);
    if constexpr (Type::kHasMinimum) {
      add_minimums(acc, minimum[0], x_sums.x, x_sums.z);
      add_minimums(acc, minimum[1], x_sums.y, x_sums.w);
    }
  } else {
    multiply_s8(sums, zero, a, b0, b1);
    add_scaled(acc, sums, step[0], x_steps, zeros);
    if constexpr (Type::kHasMinimum) add_minimums(acc, minimum[0], x_sums.x + x_sums.y, x_sums.z + x_sums.w);
  }
}

}  // namespace parlance::cuda
