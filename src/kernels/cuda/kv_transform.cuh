// The transforms between head vectors and what caches store of them (quant/kv_transform.h), by one warp on a
// vector in shared memory. Butterflies are the scalar definition's, so that they give its bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/kv_tables.cuh"
#include "quant/hadamard.h"

namespace parlance::cuda {

inline constexpr int kSketchIn = 128, kSketchOut = 256;

__host__ __device__ inline bool is_sketch(KvTransform transform) {
  return transform == KvTransform::sketch || transform == KvTransform::sketch_least_squares;
}

// Which of n values are transformed together: see hadamard_block().
__host__ __device__ inline int rotated_block(int n) {
  const int block = n & -n;
  return block >= 64 ? block : 1;
}

// x [n] in place, blocks of a power of two.
__device__ inline void hadamard_by_warp(float* x, int n, int block, int lane) {
  for (int len = 1; len < block; len *= 2) {
    for (int pair = lane; pair < n / 2; pair += 32) {
      const int first = (pair & ~(len - 1)) * 2 + (pair & (len - 1));
      const float a = x[first], b = x[first + len];
      x[first] = __fadd_rn(a, b);
      x[first + len] = __fsub_rn(a, b);
    }
    __syncwarp();
  }
}

template <class Factor>
__device__ inline void multiply_by_warp(float* x, int n, int lane, const Factor& factor) {
  for (int i = lane; i < n; i += 32) x[i] = __fmul_rn(x[i], factor(i));
  __syncwarp();
}

__device__ inline void rotate_by_warp(float* x, int n, int lane) {
  const int block = rotated_block(n);
  if (block == 1) return;
  hadamard_by_warp(x, n, block, lane);
  const auto root = static_cast<float>(1 / sqrt(static_cast<double>(block)));
  multiply_by_warp(x, n, lane, [&](int) { return root; });
}

// In place; all transforms but sketches.
__device__ inline void to_stored_by_warp(KvTransform transform, float* x, int n, int lane) {
  switch (transform) {
    case KvTransform::hadamard:
      return rotate_by_warp(x, n, lane);
    case KvTransform::signed_hadamard_32:
      multiply_by_warp(x, n, lane, [](int i) { return kSignsOf32.of[i % 32]; });
      hadamard_by_warp(x, n, 32, lane);
      return multiply_by_warp(x, n, lane, [](int) { return kInverseRoot32; });
    case KvTransform::signed_hadamard_128:
      multiply_by_warp(x, n, lane, [](int i) { return kSignsBefore128.of[i % 128]; });
      hadamard_by_warp(x, n, 128, lane);
      return multiply_by_warp(x, n, lane, [](int i) { return kInverseRoot128 * kSignsAfter128.of[i % 128]; });
    case KvTransform::hadamard_128:
      hadamard_by_warp(x, n, 128, lane);
      return multiply_by_warp(x, n, lane, [](int) { return 1.0f / 128; });
    default:
      return;
  }
}

__device__ inline void from_stored_by_warp(KvTransform transform, float* x, int n, int lane) {
  switch (transform) {
    case KvTransform::signed_hadamard_32:
      hadamard_by_warp(x, n, 32, lane);
      return multiply_by_warp(x, n, lane, [](int i) { return kInverseRoot32 * kSignsOf32.of[i % 32]; });
    case KvTransform::signed_hadamard_128:
      multiply_by_warp(x, n, lane, [](int i) { return kSignsAfter128.of[i % 128]; });
      hadamard_by_warp(x, n, 128, lane);
      return multiply_by_warp(x, n, lane,
                              [](int i) { return kInverseRoot128 * kSignsBefore128.of[i % 128]; });
    default:
      return to_stored_by_warp(transform, x, n, lane);  // symmetric
  }
}

// The two of KvTransform::signed_hadamard_32 for n blocks, of which a lane has an element each.
template <int n>
__device__ inline void hadamard_32_of_warp(float (&x)[n], int lane) {
#pragma unroll 1  // code that is not there takes longer to come than to run
  for (int len = 1; len < 32; len *= 2) {
#pragma unroll
    for (float& own : x) {
      const float other = __shfl_xor_sync(0xffffffff, own, len);
      own = lane & len ? __fsub_rn(other, own) : __fadd_rn(own, other);
    }
  }
}
template <int n>
__device__ inline void signed_hadamard_32_of_warp(float (&x)[n], int lane) {
  const float sign = kSignsOf32.of[lane];
  for (float& own : x) own = __fmul_rn(own, sign);
  hadamard_32_of_warp(x, lane);
  for (float& own : x) own = __fmul_rn(own, kInverseRoot32);
}
template <int n>
__device__ inline void signed_hadamard_32_from_stored(float (&x)[n], int lane) {
  const float factor = kInverseRoot32 * kSignsOf32.of[lane];
  hadamard_32_of_warp(x, lane);
  for (float& own : x) own = __fmul_rn(own, factor);
}

// to_stored_by_warp() of vectors of 128, of each of which a lane has elements lane, lane + 32, ...
template <int n>
__device__ inline void to_stored_of_warp(KvTransform transform, float (&x)[n], int lane) {
  constexpr int kOwn = 4;  // of a vector
  static_assert(n % kOwn == 0);
  if (transform == KvTransform::none) return;
  if (transform == KvTransform::signed_hadamard_32) return signed_hadamard_32_of_warp(x, lane);
  const bool is_signed = transform == KvTransform::signed_hadamard_128;
  float factors[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) factors[i] = is_signed ? kSignsBefore128.of[lane + 32 * i] : 1.0f;
#pragma unroll
  for (int i = 0; i < n; ++i)
    if (is_signed) x[i] = __fmul_rn(x[i], factors[i % kOwn]);
  hadamard_32_of_warp(x, lane);
#pragma unroll
  for (int len = 1; len < kOwn; len *= 2) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i & len) continue;
      const float a = x[i], b = x[i + len];
      x[i] = __fadd_rn(a, b);
      x[i + len] = __fsub_rn(a, b);
    }
  }
  const auto root = static_cast<float>(1 / sqrt(128.0));
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    factors[i] = is_signed                            ? kInverseRoot128 * kSignsAfter128.of[lane + 32 * i]
                 : transform == KvTransform::hadamard ? root
                                                      : 1.0f / 128;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = __fmul_rn(x[i], factors[i % kOwn]);
}

// stored [2 n] = M^T x [n], block by block; `matrix` is M [kSketchIn][kSketchOut].
__device__ inline void sketch_by_warp(const float* matrix, const float* x, float* stored, int n, int lane) {
  constexpr int kOwn = kSketchOut / 32;
  for (int first = 0; first < n; first += kSketchIn) {
    float sums[kOwn] = {};
    for (int i = 0; i < kSketchIn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j)
        sums[j] = __fadd_rn(sums[j], __fmul_rn(x[first + i], matrix[i * kSketchOut + j * 32 + lane]));
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) stored[2 * first + j * 32 + lane] = sums[j];
  }
  __syncwarp();
}

// x [n] = M stored [2 n].
__device__ inline void read_sketch_by_warp(const float* matrix, const float* stored, float* x, int n,
                                           int lane) {
  for (int row = 0; row < n; ++row) {
    const int first = row / kSketchIn * kSketchOut;
    float sum = 0;
    for (int j = lane; j < kSketchOut; j += 32)
      sum += matrix[row % kSketchIn * kSketchOut + j] * stored[first + j];
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (lane == 0) x[row] = sum;
  }
  __syncwarp();
}

}  // namespace parlance::cuda
