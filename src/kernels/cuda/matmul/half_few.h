// A few tokens times f16 or bf16 weights.
#pragma once

#include "kernels/fused_rows.h"

namespace parlance::cuda {

inline constexpr int kMostFewTokens = 16;

// Rows of weights start at multiples of 16 bytes. The kernel itself rounds the tokens, and gates and adds up
// what comes of them; it does not normalise. Does nothing and returns false where there are more than
// kMostFewTokens, or the GPU has no clusters of blocks with so much shared memory.
bool half_few(Stream& stream, const FusedMatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
