// Products of one token with quantised weights: see quantised_row.cu.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// Whether this GPU, and the code for it, has the copies that the kernel relies on: from compute
// capability 9.0 on.
bool has_row_kernels(int compute_capability);

// False, and nothing done, where there is more than one token, or no code for these sizes.
bool run_quantised_row(Stream& stream, const FusedMatmulArgs& args);

}  // namespace parlance::cuda
