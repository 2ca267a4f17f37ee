// Products with weights that are kept as f16, on GPUs of compute capability 9.0.
#pragma once

#include "kernels/cuda/matmul/kept_weights.h"
#include "kernels/cuda/matmul/wide_gemm.h"

namespace parlance::cuda {

// Whether all outputs with weights of this type have kept copies.
bool has_kept(const MatmulArgs& args, DType dtype);

// From so many tokens on, wide_gemm() multiplies kept weights by wide_kept_many().
inline constexpr int64_t kFewestKeptMany = 512;

// Of these outputs. f32 weights meet tokens with rests. Gates without biases may go into `rounded`, as
// halve_for_wide() makes it of them with codes, in place of the result.
void wide_kept(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
               const WideActivations* rounded = nullptr);

}  // namespace parlance::cuda
