// A launch of wide_gemm() with weights that are kept as f16, from kFewestKeptMany tokens on.
#pragma once

#include "kernels/cuda/matmul/wide_rounded.h"

namespace parlance::cuda {

// All outputs with weights of this type have kept copies.
WideDone wide_kept_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
                        const NextNorm* next);

}  // namespace parlance::cuda
