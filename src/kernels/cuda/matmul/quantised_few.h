// A few tokens times quantised weights.
#pragma once

#include "kernels/fused_rows.h"

namespace parlance::cuda {

// For fewer quantised_gemv is faster, for more quantised_gemm.
inline constexpr int kFewestQuantisedTokens = 3, kMostQuantisedTokens = 32;

// The kernel itself rounds the tokens, and gates and adds up what comes of them; it does not normalise. Does
// nothing and returns false where there are fewer or more, or the GPU has no clusters of blocks with so much
// shared memory.
bool quantised_few(Stream& stream, const FusedMatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
