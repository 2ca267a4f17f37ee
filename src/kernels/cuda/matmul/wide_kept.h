// Products with weights that are kept as f16, on GPUs of compute capability 9.0.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/fused_mlp.h"

namespace parlance::cuda {

// The copy of a weight that is kept: tiles of f16, [64, n_rows, n_steps] with rows of zeros behind the last
// one, which lie as tokens do (WideActivations). f32 weights become a sum of two such floats, the rests in
// n_steps more, and have a power of two of each row behind them, which that is to be multiplied by. Behind
// all that is the length of the longest row.
struct KeptWeight {
  static constexpr int kRowUnit = 128;
  int n_in, n_out;
  int n_rows, n_steps;
  bool has_rests;

  KeptWeight(DType dtype, int64_t n_in, int64_t n_out);
  size_t part_bytes() const { return static_cast<size_t>(n_steps) * static_cast<size_t>(n_rows) * 128; }
  size_t length_at() const {
    return has_rests ? 2 * part_bytes() + static_cast<size_t>(n_rows) * sizeof(float) : part_bytes();
  }
  size_t bytes() const { return length_at() + sizeof(float); }
};

// Bytes of the copy of a weight; 0 where this GPU's products have no use for one.
size_t kept_bytes(const Gpu& gpu, const Tensor& weight);
// Makes it, and returns when it is there.
cudaError_t make_kept(const Tensor& weight, std::byte* out);

// The copy, or null.
const std::byte* kept_copy_of(const Tensor& weight);

// Whether all outputs with weights of this type have kept copies.
bool has_kept(const MatmulArgs& args, DType dtype);

// From so many tokens on, wide_gemm() multiplies kept weights by the kernel that it has for f16 ones.
inline constexpr int64_t kFewestForHalves = 512;

// Of these outputs. f32 weights meet tokens with rests. Gates without biases may go into `rounded`, as
// halve_for_wide() makes it of them with codes, in place of the result.
void wide_kept(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
               const WideActivations* rounded = nullptr);

// See FusesMlps.
const Cell<FusedMlpArgs>* fused_mlp(const Gpu& gpu, const FusedMlpArgs& args);

}  // namespace parlance::cuda
