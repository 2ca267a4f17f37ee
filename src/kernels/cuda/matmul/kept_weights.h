// Copies of weights as f16, which many tokens meet on GPUs of compute capability 9.0 (wide_kept.h).
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/runtime/launch.h"
#include "tensor/tensor.h"

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

// The copy, or null; also for some rows of a weight that has one.
const std::byte* kept_copy_of(const Tensor& weight);

}  // namespace parlance::cuda
