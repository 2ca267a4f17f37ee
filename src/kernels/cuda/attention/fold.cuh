// How the next segment of a row joins those before it: one sequence of operations for all kernels, so that it
// does not show which of them did it.
#pragma once

#include "kernels/cuda/attention/walk.cuh"

namespace parlance::cuda::attention {

// 2^x, and 0 for what is below the least normal number: exp2f() takes three instructions more for the others.
__device__ inline float exp2_flushed(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// What becomes of the sums so far, and of the segment's, when the largest score of both is counted as 0.
struct Fold {
  float largest;
  float keep, add;

  __device__ Fold(float so_far, float of_segment)
      : largest(fmaxf(so_far, of_segment)),
        keep(exp2_flushed(so_far - largest)),
        add(exp2_flushed(of_segment - largest)) {}

  __device__ float operator()(float so_far, float of_segment) const {
    return fmaf(of_segment, add, __fmul_rn(so_far, keep));
  }
};

__device__ inline float finish(float weighted_values, float weights) {
  return __fmul_rn(weighted_values, __frcp_rn(weights));
}

}  // namespace parlance::cuda::attention
