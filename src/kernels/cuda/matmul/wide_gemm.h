// Large pieces of prompts on GPUs of compute capability 9.0.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// Whether there is a wide_gemm() for such GPUs.
bool has_wide_kernels(int compute_capability);

// Whether wide_gemm() is for this GPU, these weights and so many tokens.
bool wide_gemm_serves(Stream& stream, DType dtype, int64_t n_tokens);

// Tokens that are rounded to f16, each with a power of two of its own that they are to be multiplied by.
// Values lie as the tensor cores want them: halves [64, n_tokens, n_steps], where pieces of eight of a
// token's change places (swizzled_place() of warpgroup.cuh).
struct WideActivations {
  uint16_t* halves;
  float* scales;  // [n_tokens]
  float* part_sums;
  int n_tokens;  // padded

#ifdef __CUDACC__
  // The values of a step, from a token on that is a multiple of eight.
  __device__ uint16_t* step(int step, int token) const {
    return halves + (static_cast<int64_t>(step) * n_tokens + token) * kHalfStepValues;
  }
#endif
};

// For quantised weights x is rounded to bytes first, as wherever it meets them. The scratch memory is that of
// halve().
WideActivations halve_for_wide(Stream& stream, const Tensor& x, bool is_for_blocks);

// Products of weights of any block type, or f16, with tokens that are rounded to f16; the sums have no order.
// Rows of f16 weights start at multiples of 16 bytes.
void wide_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const WideActivations& x);

}  // namespace parlance::cuda
