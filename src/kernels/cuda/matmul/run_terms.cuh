// The product of a run of a weight's row and of a token, as gemv kernels sum it up.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/weights.cuh"

namespace parlance::cuda {

// What the product of a run is made of: sums of products of codes times steps, sums of activations times
// minimums.
template <class Type>
constexpr int kTerms = (Type::kHalves ? 2 : 1) * (Type::kHasMinimum ? 2 : 1);

// The terms of a run; their order is that of gemm.
template <class Type>
__device__ void multiply_run(const Run& w, const uint32_t (&x)[8], const RunScale& scale,
                             float2 (&terms)[kTerms<Type>]) {
  int sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int& sum = sums[Type::kHalves ? i / 4 : 0];
    sum = __dp4a(static_cast<int>(w.codes[i]), static_cast<int>(x[i]), sum);
  }
  terms[0] = make_float2(static_cast<float>(sums[0]), __fmul_rn(w.step[0], scale.step));
  if constexpr (Type::kHalves) {
    terms[1] = make_float2(static_cast<float>(sums[1]), __fmul_rn(w.step[1], scale.step));
  }
  if constexpr (Type::kHasMinimum) {
    const float first = __fmul_rn(scale.step, static_cast<float>(static_cast<int16_t>(scale.half_sums)));
    const float second = __fmul_rn(scale.step, static_cast<float>(scale.half_sums >> 16));
    if constexpr (Type::kHalves) {
      terms[2] = make_float2(w.minimum[0], first);
      terms[3] = make_float2(w.minimum[1], second);
    } else {
      terms[1] = make_float2(w.minimum[0], __fadd_rn(first, second));
    }
  }
}

}  // namespace parlance::cuda
