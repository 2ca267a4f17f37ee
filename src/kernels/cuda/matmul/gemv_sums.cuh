// The end of a gemv block: partial sums of all its threads become results.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

// Lanes that differ in bit `mask` exchange halves of 2 * held values, and so on until each holds the sum of
// one.
template <int held, int n>
__device__ void exchange_halves(float (&values)[n], int lane, int mask) {
  const bool keeps_upper = lane & mask;
#pragma unroll
  for (int i = 0; i < held; ++i) {
    const float given = keeps_upper ? values[i] : values[i + held];
    const float kept = keeps_upper ? values[i + held] : values[i];
    values[i] = kept + __shfl_xor_sync(kAllLanes, given, mask);
  }
  if constexpr (held > 1) exchange_halves<held / 2>(values, lane, mask / 2);
}

// Sums n values (a power of two from 2 to 32) over the lanes of a warp with few exchanges. The result is the
// sum of value lane / (32 / n).
template <int n>
__device__ float sum_values_of_warp(float (&values)[n], int lane) {
  exchange_halves<n / 2>(values, lane, 16);
  float sum = values[0];
#pragma unroll
  for (int mask = 16 / n; mask > 0; mask /= 2) sum += __shfl_xor_sync(kAllLanes, sum, mask);
  return sum;
}

// Adds up the sums [kTokens, kRows] of every thread of the block (32 lanes by some warps) and stores the
// results of rows and tokens that exist. `shared` has room for kTokens * kRows floats of each warp.
template <int kRows, int kTokens>
__device__ void store_sums(float (&sums)[kTokens * kRows], float* shared, const Output& output, int first_row,
                           int first_token, int n_tokens) {
  constexpr int kSums = kTokens * kRows;
  static_assert(kSums <= 32 && (kSums & (kSums - 1)) == 0);
  constexpr int kLanesPerSum = 32 / kSums;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const float sum = sum_values_of_warp(sums, lane);
  if (lane % kLanesPerSum == 0) shared[warp * kSums + lane / kLanesPerSum] = sum;
  __syncthreads();
  if (warp != 0 || lane >= kSums) return;
  const int token = first_token + lane / kRows, row = first_row + lane % kRows;
  if (token >= n_tokens || row >= output.n_out) return;
  float total = output.bias ? output.bias[row] : 0.0f;
  for (int w = 0; w < static_cast<int>(blockDim.y); ++w) total += shared[w * kSums + lane];
  output.out[static_cast<int64_t>(token) * output.n_out + row] = total;
}

}  // namespace parlance::cuda
