// Large pieces of prompts on GPUs of compute capability 9.0.
#pragma once

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// Whether there is a wide_gemm() for such GPUs.
bool has_wide_kernels(int compute_capability);

// Whether wide_gemm() is for this GPU, these weights and tokens.
bool wide_gemm_serves(Stream& stream, DType dtype, const Tensor& x);
inline constexpr int64_t kMostWideValues = 1 << 15;  // of a token

// Tokens that are rounded to f16, each with a power of two of its own that they are to be multiplied by.
// Values lie as the tensor cores want them: halves [64, n_tokens, n_steps], where pieces of eight of a
// token's change places (swizzled_place() of warpgroup.cuh).
struct WideActivations {
  uint16_t* halves;
  float* scales;   // [n_tokens]
  float* lengths;  // of the tokens before they became f16: roots of the sums of their squares
  float* part_sums;
  int n_tokens;  // padded

#ifdef __CUDACC__
  // The values of a step, from a token on that is a multiple of eight.
  __device__ uint16_t* step(int step, int token) const {
    return halves + (static_cast<int64_t>(step) * n_tokens + token) * kHalfStepValues;
  }
#endif
};

// For quantised weights x is rounded to bytes first, as wherever it meets them (codes). What rounding to f16
// leaves out may be another f16, n_steps further. With a norm, x goes through rms_norm() before, if
// normed_for_wide() is true. The scratch memory is that of halve().
enum class WideRounding : uint8_t { halves, codes, with_rests };
WideActivations halve_for_wide(Stream& stream, const Tensor& x, WideRounding rounding,
                               const Tensor& norm = {}, float eps = 0);
bool normed_for_wide(const Tensor& x, const Tensor& norm);

// Such tokens in memory from `at` on, for a kernel that makes them; without room for sums of parts.
WideActivations wide_activations_at(std::byte* at, int64_t n_values, int64_t n_tokens);

// Products of weights of any block type, or f16, with tokens that are rounded to f16; the sums have no order.
// Rows of f16 weights start at multiples of 16 bytes. False, and nothing done, where products are to be gated
// whose parts are summed up apart.
bool wide_gemm(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x);

// A launch of wide_gemm() with quantised weights, by tiles of 128 or 256 tokens: the shared memory that a
// block of it needs, and the launch.
size_t wide_blocks_shared(DType dtype, int tile_tokens);
void wide_blocks(Stream& stream, DType dtype, int tile_tokens, const Products& products,
                 const WideActivations& x, const Parts& parts, const Split& split, MatmulEnd end);

// From so many tokens on, weights of so many values in all become f16 in scratch memory first, where that is
// little to what it saves.
inline constexpr int64_t kFewestWidening = 768, kMostWidened = int64_t{128} << 20;
// Rows of all outputs, one behind the other.
void widen_weights(Stream& stream, DType dtype, const Products& products, std::byte* out);
// Bytes of scratch memory for these, behind those of halve().
size_t widened_bytes(const MatmulArgs& args);

}  // namespace parlance::cuda
