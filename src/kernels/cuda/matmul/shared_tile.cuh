// A tile of products whose parts along n_in several blocks compute, so that few tiles keep all
// multiprocessors busy. Each block leaves the sums of its parts in memory, and a kernel behind them adds them
// up in the order of the parts.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

// What a thread has of a tile: sums float[kRowTiles][kColumns][4], as tensor cores hold 16 rows by 8 tokens.
// Warps lie kAlongRows along the rows, then along the tokens.
template <int kOfThreads, int kOfRows, int kTilesOfRows, int kTilesOfTokens>
struct TileShares {
  static constexpr int kThreads = kOfThreads, kAlongRows = kOfRows;
  static constexpr int kRowTiles = kTilesOfRows, kColumns = kTilesOfTokens;
  static constexpr int kTileRows = kAlongRows * kRowTiles * 16;
  static constexpr int kTokens = kThreads / 32 / kAlongRows * kColumns * 8;
  using Sums = float[kRowTiles][kColumns][4];

  // Where the sums (m, n) of part `part` of a tile lie, of n_parts.
  __device__ static float4* at(const Split& split, int tile, int n_parts, int part, int m, int n) {
    const int64_t first = static_cast<int64_t>(tile) * n_parts + part;
    return reinterpret_cast<float4*>(split.sums) + ((first * kRowTiles + m) * kColumns + n) * kThreads +
           threadIdx.x;
  }

  // Of element e of the sums (m, n), in the tile.
  __device__ static int row(int m, int e) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (warp % kAlongRows * kRowTiles + m) * 16 + lane / 4 + e / 2 * 8;
  }
  __device__ static int token(int n, int e) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (warp / kAlongRows * kColumns + n) * 8 + lane % 4 * 2 + e % 2;
  }

  // Sums of a whole tile, to where they are results.
  __device__ static void store(const Products& p, const Output& output, int first_row, int first_token,
                               const Sums& sums) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int r = first_row + row(m, e), t = first_token + token(n, e);
          if (r >= output.n_out || t >= p.n_tokens) continue;
          output.out[static_cast<int64_t>(t) * output.n_out + r] =
              sums[m][n][e] + (output.bias ? output.bias[r] : 0.0f);
        }
      }
    }
  }

  __device__ static void leave(const Split& split, int n_parts, int part, const Sums& sums) {
    const auto tile = static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        const float(&of)[4] = sums[m][n];
        __stcg(at(split, tile, n_parts, part, m, n), make_float4(of[0], of[1], of[2], of[3]));
      }
    }
  }
};

// Block (sums (m, n) of all threads, tile), for tiles in the order of the grid that has left their parts.
template <class Shares>
__global__ void __launch_bounds__(Shares::kThreads)
    add_parts(const __grid_constant__ Products p, const Split split, int n_parts, int n_token_tiles,
              MatmulEnd end) {
  let_next_start();
  wait_for_previous();
  const int m = blockIdx.x / Shares::kColumns, n = blockIdx.x % Shares::kColumns;
  const int tile = blockIdx.y, row_tile = tile / n_token_tiles;
  const Output& output = output_of_tile(p, row_tile);
  const int first_row = (row_tile - output.first_tile) * Shares::kTileRows;
  const int first_token = tile % n_token_tiles * Shares::kTokens;
  float total[4] = {};
#pragma unroll 8
  for (int part = 0; part < n_parts; ++part) {
    const float4 of = __ldcg(Shares::at(split, tile, n_parts, part, m, n));
    total[0] = add_part(total[0], of.x);
    total[1] = add_part(total[1], of.y);
    total[2] = add_part(total[2], of.z);
    total[3] = add_part(total[3], of.w);
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const int r = first_row + Shares::row(m, e), t = first_token + Shares::token(n, e);
    if (r >= output.n_out || t >= p.n_tokens) continue;
    float& to = output.out[static_cast<int64_t>(t) * output.n_out + r];
    const float sum = total[e] + (output.bias ? output.bias[r] : 0.0f);
    to = end == MatmulEnd::add ? to + sum : sum;
  }
}

// Behind the kernel that has left them, where several blocks share a tile.
template <class Shares>
void launch_add_parts(Stream& stream, const Products& products, const Split& split, int n_parts,
                      int n_token_tiles, MatmulEnd end = MatmulEnd::store) {
  if (!split.sums) return;
  launch(stream, add_parts<Shares>,
         {.grid = dim3(Shares::kRowTiles * Shares::kColumns,
                       static_cast<unsigned>(n_token_tiles * products.n_tiles)),
          .block = dim3(Shares::kThreads)},
         products, split, n_parts, n_token_tiles, end);
}

}  // namespace parlance::cuda
