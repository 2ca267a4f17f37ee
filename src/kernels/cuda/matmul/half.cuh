// What the kernels for f16 and bf16 weights share: how x becomes two such floats. They sum products in one
// order: along a part, sixteen values at a time, first with the larger floats of x, then with the smaller.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/cuda/matmul/mma.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

inline constexpr int kPieceValues = 8;  // of kPieceBytes
inline constexpr int kMmaValues = 16;   // along n_in, of an instruction
inline constexpr int kHalfStride =
    kHalfStepValues + kPieceValues;  // rows of shared memory start in different banks

// For half_gemv, x lies such that 16 bytes are what a lane 4 * g + i takes of token g for two instructions:
// of 32 values, the pairs i of each 8.
inline constexpr int kPairedValues = 2 * kMmaValues;
__host__ __device__ inline int paired_place(int value) {
  const int in_block = value % kPairedValues;
  return value - in_block + in_block % 8 / 2 * 8 + in_block / 8 * 2 + in_block % 2;
}

struct F16Product {
  using Half = __half;
  __device__ static void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_add_f16(c, a, b0, b1);
  }
};

struct Bf16Product {
  using Half = __nv_bfloat16;
  __device__ static void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_add_bf16(c, a, b0, b1);
  }
};

// The largest magnitude of n values, by a warp; n is a multiple of 4.
__device__ inline float largest_of_part(const float* x, int n) {
  float magnitude = 0;
#pragma unroll 6
  for (int i = threadIdx.x % 32 * 4; i < n; i += 32 * 4) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);
    magnitude = fmaxf(magnitude, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  }
  return max_of_warp(magnitude);
}

// A power of two that brings the largest of a warp's n values near the top of f16, or 1 for bf16, which
// reaches as far as f32.
template <class Half>
__device__ float scale_of_part(const float* x, int n) {
  if constexpr (std::is_same_v<Half, __nv_bfloat16>) return 1;
  const float magnitude = largest_of_part(x, n);
  // The inverse must be finite, too.
  constexpr int kTopExponent = 14, kLowestExponent = -100;
  const int exponent = magnitude > 0 ? max(ilogbf(fminf(magnitude, 3e38f)), kLowestExponent) : kTopExponent;
  return ldexpf(1.0f, exponent - kTopExponent);
}

// Writes both halves of n_padded values, of which n exist. n is a multiple of 4.
template <class Half, bool kIsPaired>
__device__ void round_part(const float* x, int n, int n_padded, float scale, uint16_t* first,
                           uint16_t* second) {
  const float inverse = 1 / scale;
#pragma unroll 2
  for (int i = threadIdx.x % 32 * 4; i < n_padded; i += 32 * 4) {
    const float4 v = i < n ? *reinterpret_cast<const float4*>(x + i) : float4{};
    const float values[4] = {v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse};
    union {
      Half halves[4];
      uint32_t pairs[2];
    } high, low;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      high.halves[j] = static_cast<Half>(values[j]);
      low.halves[j] = static_cast<Half>(values[j] - static_cast<float>(high.halves[j]));
    }
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int at = kIsPaired ? paired_place(i + 2 * pair) : i + 2 * pair;
      *reinterpret_cast<uint32_t*>(first + at) = high.pairs[pair];
      *reinterpret_cast<uint32_t*>(second + at) = low.pairs[pair];
    }
  }
}

}  // namespace parlance::cuda
