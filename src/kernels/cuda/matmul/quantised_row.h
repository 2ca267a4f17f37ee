// Products of one token with quantised weights: see quantised_row.cu.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// False, and nothing done, where there is more than one token, or no code for these sizes.
bool run_quantised_row(Stream& stream, const FusedMatmulArgs& args);

}  // namespace parlance::cuda
