// The turn of a pair of values: one sequence of operations for all kernels, so that it does not show which of
// them did it.
#pragma once

namespace parlance::cuda {

__device__ inline float2 rotated(float a, float b, float cosine, float sine) {
  return make_float2(fmaf(a, cosine, -__fmul_rn(b, sine)), fmaf(a, sine, __fmul_rn(b, cosine)));
}

}  // namespace parlance::cuda
