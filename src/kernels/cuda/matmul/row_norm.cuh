// A token that the kernels for one alone normalise on its way in, as rms_norm does.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

// Values of a quad, which a thread loads at once; quads of the lanes that make a row's sum.
inline constexpr int kQuad = 4, kLaneQuads = kMostRowLanes / kQuad;

// Rows of multiples of so many values have all lanes' sums in whole warps of threads with quads.
inline constexpr int kRowQuadValues = 256;

// The squares of a row of n values, a multiple of kRowQuadValues, of which a thread adds up the quads q, q +
// kLaneQuads and so on: the sum is that of sum_of_squares().
struct SquaresOfRow {
  float sums[kQuad] = {};

  __device__ void add(const float4& v) {
    sums[0] = fmaf(v.x, v.x, sums[0]);
    sums[1] = fmaf(v.y, v.y, sums[1]);
    sums[2] = fmaf(v.z, v.z, sums[2]);
    sums[3] = fmaf(v.w, v.w, sums[3]);
  }

  // By whole warps, whose first quads follow each other. sum_of_warp() of 32 lanes, which eight threads have:
  // lanes that are 16, 8 and 4 apart, then 2 and 1.
  __device__ void leave(int quad, float (&partial)[kMostRowLanes / 32]) {
#pragma unroll
    for (int mask = 16; mask >= kQuad; mask /= 2) {  // side by side: each waits for what other lanes have
#pragma unroll
      for (float& sum : sums) sum += __shfl_xor_sync(kAllLanes, sum, mask / kQuad);
    }
    if (quad % 8 == 0) partial[quad / 8] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
};

// Has a block, of whole warps, leave the squares of a row of n values.
__device__ inline void leave_squares(const float* x, int n, float (&partial)[kMostRowLanes / 32]) {
  constexpr int kAtOnce = 4;
  const int n_quads = n / kQuad, n_threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int own = static_cast<int>(threadIdx.x); own < min(n_quads, kLaneQuads); own += n_threads) {
    SquaresOfRow squares;
    for (int first = own; first < n_quads; first += kAtOnce * kLaneQuads) {
      float4 quads[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * kLaneQuads < n_quads)
          quads[i] = reinterpret_cast<const float4*>(x)[first + i * kLaneQuads];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * kLaneQuads < n_quads) squares.add(quads[i]);
      }
    }
    squares.leave(own, partial);
  }
}

// What the values are multiplied with before their weight; by whole warps, behind a barrier.
__device__ inline float scale_of_squares(const float (&partial)[kMostRowLanes / 32], int n, float eps) {
  const int lane = threadIdx.x % 32;
  const float sum = sum_of_warp(lane < row_lanes(n) / 32 ? partial[lane] : 0.0f);
  return 1 / sqrtf(sum / static_cast<float>(n) + eps);
}

__device__ inline float4 normalised(const float4& v, float scale, const float4& weight) {
  return make_float4(v.x * scale * weight.x, v.y * scale * weight.y, v.z * scale * weight.z,
                     v.w * scale * weight.w);
}

}  // namespace parlance::cuda
