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

// Tokens of so many values from `at` on, with room for sums of parts behind them: at the start of the scratch
// memory, that is no more than halve() has. Bytes without that room.
ManyActivations many_activations_at(std::byte* at, int64_t n_in);
size_t many_activation_bytes(int64_t n_in);

// Whether halve_for_many() normalises tokens on its way, where they are to be.
bool halve_for_many_normalises(const Tensor& x, const Tensor& norm);

// With a norm, tokens are those of rms_norm.
void halve_for_many(Stream& stream, const Tensor& x, DType dtype, const ManyActivations& out,
                    const Tensor& norm = {}, float norm_eps = 0);

// The parts of products that blocks have left, of rows in groups of kGroupRows.
struct ManyParts {
  static constexpr int kGroupRows = 64;
  float* sums = nullptr;  // [kGroupRows, kManyTokens, n_groups, n]; null: products are finished
  int n_groups = 0, n = 0;

#ifdef __CUDACC__
  __device__ float* of_group(int part, int group) const {
    return sums + (static_cast<int64_t>(part) * n_groups + group) * (kManyTokens * kGroupRows);
  }
  // All parts of four rows, a multiple of four.
  __device__ float4 sum_of_four(int token, int row) const {
    float4 total = {};
#pragma unroll 8
    for (int part = 0; part < n; ++part) {
      const float* const of_token = of_group(part, row / kGroupRows) + token * kGroupRows;
      const float4 of = __ldcg(reinterpret_cast<const float4*>(of_token + row % kGroupRows));
      total.x = add_part(total.x, of.x);
      total.y = add_part(total.y, of.y);
      total.z = add_part(total.z, of.z);
      total.w = add_part(total.w, of.w);
    }
    return total;
  }
#endif
};

// The sums are those of half_gemv and half_gemm, for whatever end. Rows of weights start at multiples of 16
// bytes.
void half_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x);
// The same, but for parts that somebody else is to add up.
ManyParts half_many_parts(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x);

// h += the parts of an only product without groups of others, with its bias, then what halve_for_many() makes
// of h under a norm that it does itself.
void add_and_halve_for_many(Stream& stream, const Tensor& h, const ManyParts& added, const Tensor& bias,
                            DType dtype, const ManyActivations& out, const Tensor& norm, float norm_eps);

}  // namespace parlance::cuda
