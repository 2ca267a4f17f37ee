// A few tokens times f16 or bf16 weights.
#pragma once

#include "kernels/op_table.h"

namespace parlance::cuda {

inline constexpr int kMostFewTokens = 16;

// Rows of weights start at multiples of 16 bytes. Tokens are rounded by the kernel itself. Does nothing and
// returns false where there are more than kMostFewTokens, or the GPU has no clusters of blocks with so much
// shared memory.
bool half_few(Stream& stream, const MatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
