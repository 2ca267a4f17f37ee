// A few tokens times quantised weights.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// For fewer quantised_gemv is faster; more are a piece of a prompt (kMostAlikeTokens).
inline constexpr int kFewestQuantisedTokens = 3, kMostQuantisedTokens = kMostAlikeTokens;

// All that args ask for. Does nothing and returns false where there are fewer tokens or more, sizes that the
// kernel has no code for, or the GPU has no clusters of blocks with so much shared memory.
bool run_quantised_few(Stream& stream, const FusedMatmulArgs& args);

}  // namespace parlance::cuda
