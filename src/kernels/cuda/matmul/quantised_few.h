// A few tokens times quantised weights.
#pragma once

#include "kernels/op_table.h"

namespace parlance::cuda {

// For fewer quantised_gemv is faster, for more quantised_gemm.
inline constexpr int kFewestQuantisedTokens = 3, kMostQuantisedTokens = 32;

// Tokens are rounded by the kernel itself. Does nothing and returns false where there are fewer or more, or
// the GPU has no clusters of blocks with so much shared memory.
bool quantised_few(Stream& stream, const MatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
