// What the blocks of half_many.cu leave of the parts of products, where several share a tile, and how it is
// added up: rows of tokens, which who comes next can take as they are.
#pragma once

#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

// Rows of weights are in groups, one for each warpgroup, and these are numbered through all outputs. Where
// gates are to meet others, of each sixteen rows the first eight are theirs.
struct ManyGroup {
  const Output& output;
  int first;  // row of the output

  __device__ ManyGroup(const Products& p, int group)
      : output(output_of_tile(p, group)), first((group - output.first_tile) * n_rows(p)) {}
  __device__ static int n_rows(const Products& p) { return p.is_gated ? kWarpgroupRows / 2 : kWarpgroupRows; }
};

// Four values of an output's row for a token, of which fewer may exist.
class FourResults {
 public:
  __device__ FourResults(const Output& output, int token, int row)
      : at_(output.out + static_cast<int64_t>(token) * output.n_out + row),
        n_(output.n_out - row),
        is_whole_(output.n_out % 4 == 0 && reinterpret_cast<uintptr_t>(output.out) % sizeof(float4) == 0) {}

  __device__ float4 load() const {
    if (is_whole_) return *reinterpret_cast<const float4*>(at_);
    return load_from(at_);
  }
  __device__ void store(const float4& v) const {
    if (is_whole_) {
      *reinterpret_cast<float4*>(at_) = v;
      return;
    }
    const float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i < n_) at_[i] = values[i];
  }
  // Of a bias, which may be absent; as far as results exist.
  __device__ float4 load_bias(const float* bias, int row) const {
    return bias ? load_from(bias + row) : float4{};
  }

 private:
  __device__ float4 load_from(const float* from) const {
    float values[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = i < n_ ? from[i] : 0.0f;
    return make_float4(values[0], values[1], values[2], values[3]);
  }

  float* at_;
  int n_;
  bool is_whole_;
};

__device__ inline float4 sum_of(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Blocks (four results each of kAddThreads threads, token).
inline constexpr int kAddThreads = 256;
template <MatmulEnd kEnd>
__global__ void __launch_bounds__(kAddThreads)
    add_many_parts(const __grid_constant__ Products p, const ManyParts parts) {
  let_next_start();
  constexpr bool kIsGated = kEnd == MatmulEnd::gate;
  constexpr int kFours = kWarpgroupRows / (kIsGated ? 8 : 4);  // of a group
  const int four = static_cast<int>(blockIdx.x * kAddThreads + threadIdx.x), token = blockIdx.y;
  const int group = four / kFours, in_output = four % kFours * 4;
  wait_for_previous();
  if (group >= p.n_tiles) return;
  const ManyGroup of(p, group);
  const int row = of.first + in_output;
  if (row >= of.output.n_out) return;
  const int at = group * kWarpgroupRows + (kIsGated ? in_output / 8 * 16 + in_output % 8 : in_output);
  const FourResults to(of.output, token, row);
  const float4 before = kEnd == MatmulEnd::add ? to.load() : float4{};
  const float4 sum = sum_of(parts.sum_of_four(token, at), to.load_bias(of.output.bias, row));
  if constexpr (kIsGated) {
    const float4 up = sum_of(parts.sum_of_four(token, at + 8), to.load_bias(p.outputs[1].bias, row));
    to.store(make_float4(silu(sum.x) * up.x, silu(sum.y) * up.y, silu(sum.z) * up.z, silu(sum.w) * up.w));
  } else {
    to.store(kEnd == MatmulEnd::add ? sum_of(before, sum) : sum);
  }
}

}  // namespace parlance::cuda
