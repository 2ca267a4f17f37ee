// Launches of wide_gemm() with weights that are kept as f16, from kFewestKeptMany tokens on. All outputs with
// weights of the type have kept copies.
#pragma once

#include "kernels/cuda/attention/rounded_heads.h"
#include "kernels/cuda/matmul/wide_rounded.h"

namespace parlance::cuda {

WideDone wide_kept_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
                        const NextNorm* next);

// Products that are q, k and v of `heads`, which become those rounded heads in place of results, with the
// bits that results would become. False, and nothing done, where products have parts that are summed up
// apart, or heads are of another size.
bool wide_kept_heads(Stream& stream, const MatmulArgs& args, DType dtype, const WideActivations& x,
                     const attention::RoundedHeads& heads);

}  // namespace parlance::cuda
