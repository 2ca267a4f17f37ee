// Heads of 128 that are normed and rotated as halves, as most are, by a warp: a lane keeps its two pairs, and
// has asked for what it multiplies them with before the head was there.
#pragma once

#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/rotate.cuh"

namespace parlance::cuda {

inline constexpr int kKeptPairs = 2, kKeptDim = 2 * kKeptPairs * 32;
struct KeptNorm {
  float of[2 * kKeptPairs];

  __device__ KeptNorm(const float* norm, int lane) {
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) of[i] = norm ? norm[lane + 32 * i] : 1;
  }
};

struct KeptAngles {
  float cosine[kKeptPairs], sine[kKeptPairs];

  __device__ KeptAngles(const float* cosines, int lane) {
#pragma unroll
    for (int i = 0; i < kKeptPairs; ++i) {
      cosine[i] = cosines[lane + 32 * i];
      sine[i] = cosines[kKeptDim / 2 + lane + 32 * i];
    }
  }
};

struct KeptHead {
  float x[2 * kKeptPairs];  // elements lane, lane + 32, ...

  // As it is before it is normed and rotated.
  __device__ KeptHead(const float* head, int lane) {
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) x[i] = head[lane + 32 * i];
  }
  __device__ KeptHead(const float* head, bool has_norm, const KeptNorm& norm, const float* cosines, float eps,
                      int lane)
      : KeptHead(head, lane) {
    norm_and_rotate(has_norm, norm, KeptAngles(cosines, lane), eps);
  }

  __device__ void norm_and_rotate(bool has_norm, const KeptNorm& norm, const KeptAngles& angles, float eps) {
    if (has_norm) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 2 * kKeptPairs; ++i) sum += x[i] * x[i];
      const float scale = 1 / sqrtf(sum_of_warp(sum) / static_cast<float>(kKeptDim) + eps);
#pragma unroll
      for (int i = 0; i < 2 * kKeptPairs; ++i) x[i] = x[i] * scale * norm.of[i];
    }
#pragma unroll
    for (int i = 0; i < kKeptPairs; ++i) {
      const float2 turned = rotated(x[i], x[i + kKeptPairs], angles.cosine[i], angles.sine[i]);
      x[i] = turned.x;
      x[i + kKeptPairs] = turned.y;
    }
  }

  __device__ void store(float* head, int lane) const {
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) head[lane + 32 * i] = x[i];
  }
};

}  // namespace parlance::cuda
