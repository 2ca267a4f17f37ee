// A launch of wide_gemm() with f16 weights, by tiles of 256 tokens.
#pragma once

#include "kernels/cuda/matmul/wide_gemm.h"

namespace parlance::cuda {

// Shared memory that a block of it needs.
size_t wide_brought_shared();
// Weights as they lie in a file; `is_made_before`: the kernel before has made them.
void wide_brought(Stream& stream, const Products& products, const WideActivations& x, const Parts& parts,
                  const Split& split, MatmulEnd end, bool is_made_before);

}  // namespace parlance::cuda
