// wide_gemm() of a product that is added to rows of the residual stream, which then go on, normed and
// rounded, to the next ones.
#pragma once

#include "kernels/cuda/matmul/wide_gemm.h"

namespace parlance::cuda {

// Whether the kernels have code for such rows, weights and norm.
bool wide_gemm_rounds(const Tensor& h, const Linear& w, const Tensor& norm);

// The only product of `args`, which are added to their output, then what halve_for_wide() makes of that under
// the norm, with codes.
WideActivations wide_gemm_rounded(Stream& stream, const FusedMatmulArgs& args, DType dtype,
                                  const WideActivations& x, const Tensor& norm, float eps);

// What comes behind products whose parts are added up.
struct NextNorm {
  const float4* weight;
  float eps;
  WideActivations rounded;  // what comes of it
};

// What has become of products: nothing, where they were to be gated and have parts; results; and rows that
// are rounded for the next ones, if these were asked for and had parts.
enum class WideDone : uint8_t { nothing, products, rounded };

}  // namespace parlance::cuda
