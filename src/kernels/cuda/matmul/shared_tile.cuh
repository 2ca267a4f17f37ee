// A tile of products whose parts along n_in several blocks compute, so that few tiles keep all
// multiprocessors busy. Each block leaves the sums of its parts in memory, and the last one adds them up in
// the order of the parts.
#pragma once

#include <type_traits>

#include "kernels/cuda/matmul/products.h"

namespace parlance::cuda {

// Sums: float[m][n][4], what a thread has of a part. All threads of all blocks of a tile go through the same
// calls.
template <class Sums, int kThreads>
class SharedTile {
  static constexpr int kRowTiles = std::extent_v<Sums, 0>, kColumns = std::extent_v<Sums, 1>;

 public:
  __device__ SharedTile(const Split& split, int n_parts)
      : split_(split),
        n_parts_(n_parts),
        tile_(static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x)),
        sums_(reinterpret_cast<float4*>(split.sums) +
              static_cast<int64_t>(tile_) * n_parts * kRowTiles * kColumns * kThreads + threadIdx.x) {}

  __device__ void leave(int part, const Sums& sums) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        const float(&of)[4] = sums[m][n];
        __stcg(at(part, m, n), make_float4(of[0], of[1], of[2], of[3]));
      }
    }
  }

  // False for all blocks but the last one that comes here, whose `total` becomes that of all parts.
  __device__ bool is_last_to_add(Sums& total) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      is_last = atomicAdd(split_.arrived + tile_, 1) + 1 == split_.n_blocks;
      if (is_last) split_.arrived[tile_] = 0;  // for the next product
      __threadfence();
    }
    __syncthreads();
    if (!is_last) return false;
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
#pragma unroll
        for (float& sum : total[m][n]) sum = 0;
#pragma unroll 8
        for (int part = 0; part < n_parts_; ++part) {
          const float4 of = __ldcg(at(part, m, n));
          total[m][n][0] = add_part(total[m][n][0], of.x);
          total[m][n][1] = add_part(total[m][n][1], of.y);
          total[m][n][2] = add_part(total[m][n][2], of.z);
          total[m][n][3] = add_part(total[m][n][3], of.w);
        }
      }
    }
    return true;
  }

 private:
  __device__ float4* at(int part, int m, int n) const {
    return sums_ + static_cast<int64_t>((part * kRowTiles + m) * kColumns + n) * kThreads;
  }

  const Split& split_;
  int n_parts_;
  int tile_;
  float4* sums_;
};

}  // namespace parlance::cuda
