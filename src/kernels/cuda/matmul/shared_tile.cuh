// A tile of products whose parts along n_in several blocks compute, so that few tiles keep all
// multiprocessors busy. Each block leaves the sums of its parts in memory, and a kernel behind them adds them
// up in the order of the parts.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

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

  // Of element e of the sums (m, n), in the tile. A block may have several tiles, of so many threads each.
  __device__ static int row(int m, int e) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (warp % kAlongRows * kRowTiles + m) * 16 + lane / 4 + e / 2 * 8;
  }
  __device__ static int token(int n, int e) {
    const int warp = threadIdx.x % kThreads / 32, lane = threadIdx.x % 32;
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

// What becomes of the whole sums (m, n) of a tile. Where a gate's are to meet others, the former are the
// first eight of each sixteen rows.
template <class Shares, MatmulEnd kEnd>
class EndOfSums {
  static constexpr bool kIsGated = kEnd == MatmulEnd::gate;
  static constexpr int kResults = kIsGated ? 2 : 4;

 public:
  __device__ EndOfSums(const Products& p, const Output& output, int first_row, int first_token, int m,
                       int n) {
#pragma unroll
    for (int e = 0; e < kResults; ++e) {
      const int own_row = Shares::row(m, e), t = first_token + Shares::token(n, e);
      const int r = kIsGated ? first_row / 2 + own_row / 16 * 8 + own_row % 8 : first_row + own_row;
      const bool exists = r < output.n_out && t < p.n_tokens;
      to_[e] = exists ? output.out + static_cast<int64_t>(t) * output.n_out + r : nullptr;
      before_[e] = kEnd == MatmulEnd::add && exists ? *to_[e] : 0.0f;
      bias_[e] = output.bias && exists ? output.bias[r] : 0.0f;
      if constexpr (kIsGated) bias_[e + 2] = p.outputs[1].bias && exists ? p.outputs[1].bias[r] : 0.0f;
    }
  }

  __device__ void finish(const float (&sums)[4]) const {
#pragma unroll
    for (int e = 0; e < kResults; ++e) {
      const float sum = sums[e] + bias_[e];
      if (!to_[e]) continue;
      if constexpr (kIsGated) {
        *to_[e] = silu(sum) * (sums[e + 2] + bias_[e + 2]);
      } else {
        *to_[e] = kEnd == MatmulEnd::add ? before_[e] + sum : sum;
      }
    }
  }

 private:
  float* to_[kResults];
  float before_[kResults], bias_[4];
};

// The same of all sums of a tile of all tokens.
template <class Shares, MatmulEnd kEnd>
__device__ void finish_all(const Products& p, const Output& output, int first_row,
                           const typename Shares::Sums& sums) {
#pragma unroll
  for (int m = 0; m < Shares::kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < Shares::kColumns; ++n) {
      const EndOfSums<Shares, kEnd> end(p, output, first_row, 0, m, n);
      end.finish(sums[m][n]);
    }
  }
}
template <class Shares>
__device__ void finish_tile(const Products& p, const Output& output, int first_row,
                            const typename Shares::Sums& sums, MatmulEnd end) {
  if (end == MatmulEnd::gate) {
    finish_all<Shares, MatmulEnd::gate>(p, output, first_row, sums);
  } else if (end == MatmulEnd::add) {
    finish_all<Shares, MatmulEnd::add>(p, output, first_row, sums);
  } else {
    finish_all<Shares, MatmulEnd::store>(p, output, first_row, sums);
  }
}

// Block (sums (m, n) of all threads, tile), for tiles in the order of the grid that has left their parts.
template <class Shares, MatmulEnd kEnd>
__global__ void __launch_bounds__(Shares::kThreads)
    add_parts(const __grid_constant__ Products p, const Split split, int n_parts, int n_token_tiles) {
  let_next_start();
  wait_for_previous();
  const int m = blockIdx.x / Shares::kColumns, n = blockIdx.x % Shares::kColumns;
  const int tile = blockIdx.y, row_tile = tile / n_token_tiles;
  const Output& output = output_of_tile(p, row_tile);
  const EndOfSums<Shares, kEnd> end(p, output, (row_tile - output.first_tile) * Shares::kTileRows,
                                    tile % n_token_tiles * Shares::kTokens, m, n);
  float total[4] = {};
#pragma unroll 8
  for (int part = 0; part < n_parts; ++part) {
    const float4 of = __ldcg(Shares::at(split, tile, n_parts, part, m, n));
    total[0] = add_part(total[0], of.x);
    total[1] = add_part(total[1], of.y);
    total[2] = add_part(total[2], of.z);
    total[3] = add_part(total[3], of.w);
  }
  end.finish(total);
}

// Behind the kernel that has left them, where several blocks share a tile; not where products are gated.
template <class Shares>
void launch_add_parts(Stream& stream, const Products& products, const Split& split, int n_parts,
                      int n_token_tiles, MatmulEnd end = MatmulEnd::store) {
  if (!split.sums) return;
  const auto kernel =
      end == MatmulEnd::add ? add_parts<Shares, MatmulEnd::add> : add_parts<Shares, MatmulEnd::store>;
  launch(stream, kernel,
         {.grid = dim3(Shares::kRowTiles * Shares::kColumns,
                       static_cast<unsigned>(n_token_tiles * products.n_tiles)),
          .block = dim3(Shares::kThreads)},
         products, split, n_parts, n_token_tiles);
}

}  // namespace parlance::cuda
