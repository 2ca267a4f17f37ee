// Many answers at once, or drafts of several, times f16 or bf16 weights.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// That are multiplied at once; fewer are padded.
inline constexpr int kManyTokens = 64;

// Whether half_many() is for GPUs of this compute capability and so many tokens.
bool half_many_serves(int compute_capability, int64_t n_tokens);

// Tokens as halve() rounds them, where the tensor cores want them: of each step both halves, 64 values of
// kManyTokens each, whose pieces of eight change places (swizzled_place() of warpgroup.cuh).
struct ManyActivations {
  uint16_t* halves;
  float* scales;  // [kManyTokens, n_parts]
  float* part_sums;

  static constexpr int kHalfBytes = kManyTokens * kHalfStepValues * static_cast<int>(sizeof(uint16_t));
  static constexpr int kStepBytes = kHalves * kHalfBytes;
#ifdef __CUDACC__
  __device__ uint16_t* step(int step) const {
    return halves + static_cast<int64_t>(step) * (kStepBytes / static_cast<int>(sizeof(uint16_t)));
  }
#endif
};

// Whether halve_for_many() normalises tokens on its way, where they are to be.
bool halve_for_many_normalises(const Tensor& x, const Tensor& norm);

// The scratch memory is that of halve(). With a norm, tokens are those of rms_norm.
ManyActivations halve_for_many(Stream& stream, const Tensor& x, DType dtype, const Tensor& norm = {},
                               float norm_eps = 0);

// The sums are those of half_gemv and half_gemm, for whatever end. Rows of weights start at multiples of 16
// bytes.
void half_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x);

}  // namespace parlance::cuda
