// What becomes of the sums of a few tokens' products: who adds up which, and where results go.
#pragma once

#include "kernels/cuda/matmul/few_unit.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

// Where the results of a tile's columns go, whose sums lie as in TileSums. In a gated product the tile's
// upper rows are gates of the lower ones.
class TileEnd {
 public:
  __device__ TileEnd(const Products& p, MatmulEnd end, int tile)
      : output_(output_of_tile(p, tile)),
        up_bias_(p.outputs[1].bias),
        n_tokens_(p.n_tokens),
        is_gated_(p.is_gated),
        adds_(end == MatmulEnd::add) {
    row_ = (tile - output_.first_tile) * (is_gated_ ? kFewRows / 2 : kFewRows) +
           static_cast<int>(threadIdx.x % 32) / 4;
  }

  // What the sums are added to.
  __device__ float4 before(int column) const {
    float values[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (adds_ && stores(column, i)) values[i] = *place(column, i);
    }
    return make_float4(values[0], values[1], values[2], values[3]);
  }
  __device__ void store(int column, const float (&sums)[4], const float4& before) const {
    const float to_add[4] = {before.x, before.y, before.z, before.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (!stores(column, i)) continue;
      float value = sums[i] + (output_.bias ? output_.bias[row_ + i / 2 * 8] : 0.0f);
      if (is_gated_) value = silu(value) * (sums[2 + i % 2] + (up_bias_ ? up_bias_[row_] : 0.0f));
      *place(column, i) = adds_ ? to_add[i] + value : value;
    }
  }

 private:
  __device__ static int token(int column, int i) {
    return column * kColumnTokens + static_cast<int>(threadIdx.x % 4) * 2 + i % 2;
  }
  __device__ bool stores(int column, int i) const {
    return row_ + i / 2 * 8 < output_.n_out && token(column, i) < n_tokens_ && !(is_gated_ && i >= 2);
  }
  __device__ float* place(int column, int i) const {
    return output_.out + static_cast<int64_t>(token(column, i)) * output_.n_out + row_ + i / 2 * 8;
  }

  const Output output_;
  const float* const up_bias_;
  const int n_tokens_;
  const bool is_gated_, adds_;
  int row_;
};

// The sums of the parts of a tile that a warp has multiplied before: of each, or of a warp that has all parts
// the sum of them.
template <int kColumns>
struct SumsAside {
  static constexpr int kPartBytes = kColumns * 32 * static_cast<int>(sizeof(float4));
  float4* memory;  // the warp's: [32 lanes, kColumns, parts]

  __host__ __device__ static int bytes(int n_parts) { return n_parts * kPartBytes; }
  __device__ float4& at(int part, int column) const {
    return memory[(part * kColumns + column) * 32 + threadIdx.x % 32];
  }

  __device__ void put(int part, const TileSums<kColumns>& sums) const {
#pragma unroll
    for (int column = 0; column < kColumns; ++column)
      at(part, column) = make_float4(sums[column][0], sums[column][1], sums[column][2], sums[column][3]);
  }
  // Those of one part more, to the sum of all before it.
  __device__ void add(const TileSums<kColumns>& sums) const {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      float total[4];
      get(0, column, total);
#pragma unroll
      for (int i = 0; i < 4; ++i) total[i] = add_part(total[i], sums[column][i]);
      at(0, column) = make_float4(total[0], total[1], total[2], total[3]);
    }
  }
  __device__ void get(int part, int column, float (&sums)[4]) const {
    const float4 own = at(part, column);
    sums[0] = own.x, sums[1] = own.y, sums[2] = own.z, sums[3] = own.w;
  }
};

// Where warps leave the sums of parts: those of a column of a tile in the shared memory of one of the
// cluster's blocks, which take turns.
struct LeftSums {
  static constexpr int kPartBytes = 32 * static_cast<int>(sizeof(float4));  // of a column
  float4* memory;  // [32 lanes, parts, columns of the block]
  int n_parts, log_blocks;

  // n_columns: of all tiles of a cluster.
  __host__ __device__ static int bytes(int n_columns, int n_parts, int log_blocks) {
    return ((n_columns + (1 << log_blocks) - 1) >> log_blocks) * n_parts * kPartBytes;
  }

  __device__ float4* at(int of_block, int part) const {
    return memory + (of_block * n_parts + part) * 32 + threadIdx.x % 32;
  }
  // Of a column, counted through all tiles of the cluster.
  __device__ void leave(int column, int part, const float (&sums)[4]) const {
    store_in_block(reinterpret_cast<float*>(at(column >> log_blocks, part)),
                   static_cast<unsigned>(column & ((1 << log_blocks) - 1)),
                   make_float4(sums[0], sums[1], sums[2], sums[3]));
  }
  __device__ void add_up(int of_block, float (&sums)[4]) const {
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part >= n_parts) break;
      const float4 own = *at(of_block, part);
      sums[0] = add_part(sums[0], own.x), sums[1] = add_part(sums[1], own.y);
      sums[2] = add_part(sums[2], own.z), sums[3] = add_part(sums[3], own.w);
    }
  }
};

}  // namespace parlance::cuda
