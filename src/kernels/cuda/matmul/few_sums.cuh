// What becomes of the sums of a few tokens' products: who adds up which, and where results go.
#pragma once

#include "kernels/cuda/matmul/few_unit.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

// How tiles and their parts are shared out. A block has all tiles of its cluster, of them some parts; so many
// of its warps have a tile's, each the same number of parts.
struct FewShape {
  int log_blocks;         // of a cluster
  int block_parts;        // of a block: less where parts end
  int tile_warps;         // of a block, that share a tile
  int warp_parts;         // of a warp: less where the block's end
  int n_slots, n_rounds;  // tiles of a block at once, and how often
  int n_stages;           // of a warp

  __host__ __device__ int n_blocks() const { return 1 << log_blocks; }
  __host__ __device__ int n_warps() const { return n_slots * tile_warps; }
  // Whether a warp has all of a tile's parts.
  __host__ __device__ bool is_whole() const { return log_blocks == 0 && tile_warps == 1; }
  // Of sums that warps leave: twice where those of a round are read while the next ones are computed.
  __host__ __device__ int n_buffers() const { return n_rounds > 1 ? 2 : 1; }
};

// Of a column of a tile, whose sums lie as in TileSums. In a gated product the tile's upper rows are gates of
// the lower ones.
struct ColumnEnd {
  const Products& p;
  const Output& output;
  float* to[2];  // of the lane's rows' first token; null: the row does not exist
  int row, first_token;
  MatmulEnd end;
  float before[4] = {};  // what sums are added to

  __device__ ColumnEnd(const Products& products, MatmulEnd end_of_sums, int tile, int column)
      : p(products),
        output(output_of_tile(p, tile)),
        first_token(column * kColumnTokens + static_cast<int>(threadIdx.x) % 4 * 2),
        end(end_of_sums) {
    row = (tile - output.first_tile) * (p.is_gated ? kFewRows / 2 : kFewRows) +
          static_cast<int>(threadIdx.x) % 32 / 4;
    for (int e = 0; e < 2; ++e) {
      const int own = row + 8 * e;
      const bool exists = own < output.n_out && first_token < p.n_tokens && !(p.is_gated && e == 1);
      to[e] = exists ? output.out + static_cast<int64_t>(first_token) * output.n_out + own : nullptr;
    }
    if (end != MatmulEnd::add) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (stores(i)) before[i] = *place(i);
    }
  }

  __device__ void store(const float (&sums)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (!stores(i)) continue;
      float value = with_bias(output, row + i / 2 * 8, sums[i]);
      if (p.is_gated) value = silu(value) * with_bias(p.outputs[1], row, sums[2 + i % 2]);
      *place(i) = end == MatmulEnd::add ? before[i] + value : value;
    }
  }

 private:
  __device__ bool stores(int i) const {
    return to[i / 2] && first_token + i % 2 < p.n_tokens;
  }
  __device__ float* place(int i) const {
    return to[i / 2] + i % 2 * static_cast<int64_t>(output.n_out);
  }
  __device__ static float with_bias(const Output& of, int row, float sum) {
    return sum + (of.bias ? of.bias[row] : 0.0f);
  }
};

// Where warps leave the sums of parts: those of a column of a tile in the shared memory of one of the
// cluster's blocks, which take turns.
template <int kColumns>
struct LeftSums {
  static constexpr int kPartBytes = 32 * static_cast<int>(sizeof(float4));  // of a column
  float4* memory;  // [32 lanes, parts, columns of the block, buffers]
  int n_parts, n_slots, log_blocks, n_buffers;

  __host__ __device__ static int columns_of_block(int n_slots, int log_blocks) {
    return (n_slots * kColumns + (1 << log_blocks) - 1) >> log_blocks;
  }
  __host__ __device__ static int bytes(const FewShape& shape, int n_parts) {
    return shape.is_whole()
               ? 0
               : shape.n_buffers() * columns_of_block(shape.n_slots, shape.log_blocks) * n_parts * kPartBytes;
  }

  __device__ float4* at(int round, int of_block, int part) const {
    const int column = round % n_buffers * columns_of_block(n_slots, log_blocks) + of_block;
    return memory + (column * n_parts + part) * 32 + threadIdx.x % 32;
  }
  __device__ void leave(int round, int slot, int part, const TileSums<kColumns>& sums) const {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int i = slot * kColumns + column;
      store_in_block(reinterpret_cast<float*>(at(round, i >> log_blocks, part)),
                     static_cast<unsigned>(i & ((1 << log_blocks) - 1)),
                     make_float4(sums[column][0], sums[column][1], sums[column][2], sums[column][3]));
    }
  }
  __device__ void add_up(int round, int of_block, float (&sums)[4]) const {
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part >= n_parts) break;
      const float4 own = *at(round, of_block, part);
      sums[0] = add_part(sums[0], own.x), sums[1] = add_part(sums[1], own.y);
      sums[2] = add_part(sums[2], own.z), sums[3] = add_part(sums[3], own.w);
    }
  }
};

}  // namespace parlance::cuda
