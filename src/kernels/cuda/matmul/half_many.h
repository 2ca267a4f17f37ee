// Many answers at once, or drafts of several, times f16 or bf16 weights.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// That are multiplied at once; fewer are padded. Up to kMostFewerTokens, half_gemm has less to multiply.
inline constexpr int kManyTokens = 64, kMostFewerTokens = 32;

// Whether half_many() is for this GPU and so many tokens.
bool half_many_serves(Stream& stream, int64_t n_tokens);

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

// The scratch memory is that of halve().
ManyActivations halve_for_many(Stream& stream, const Tensor& x, DType dtype);

// The sums are those of half_gemv and half_gemm. Rows of weights start at multiples of 16 bytes.
void half_many(Stream& stream, const MatmulArgs& args, DType dtype, const ManyActivations& x);

}  // namespace parlance::cuda
