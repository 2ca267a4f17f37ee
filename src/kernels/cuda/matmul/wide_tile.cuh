// What the kernels of wide_*.cu share: a tile of kTileRows rows by kTokens tokens,
// which a block of two warpgroups computes, and what becomes of its sums.
#pragma once

#include "base/checked.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda::wide_tile {

inline constexpr int kThreads = 2 * kWarpgroupThreads;
inline constexpr int kTileRows = kThreads / kWarpgroupThreads * kWarpgroupRows;
inline constexpr int kMostTileTokens = 256;
inline constexpr int kUnitValues = 256, kUnitSteps = kUnitValues / kHalfStepValues;  // of parts

template <int kTokens>
inline constexpr int kTokensBytes = kTokens* kSwizzledRowBytes;  // of a step
template <int kTokens>
using OfTile = TileShares<kThreads, kThreads / 32, 1, kTokens / 8>;

// The rows of a warpgroup's half of the tile.
struct GroupRows {
  const uint8_t* first;
  int64_t row_bytes;
  int n;  // that exist, from the first on; none or less, perhaps

  // Behind the last row that exists, it is meant; where there is none, the output's first.
  __device__ const uint8_t* row(int i) const {
    return n > 0 ? first + (i < n ? i : n - 1) * row_bytes : first;
  }
};

// A block's place in the products: its tile, and in it the part of n_in.
struct Place {
  const Output& output;
  int first_row, first_token;  // with gates, the first row of both halves
  int part, begin, end;        // steps

  __device__ Place(const Products& p, const Parts& parts, int tile_tokens, int tile_rows = kTileRows)
      : output(output_of_tile(p, blockIdx.y)),
        first_row((static_cast<int>(blockIdx.y) - output.first_tile) *
                  (p.is_gated ? tile_rows / 2 : tile_rows)),
        first_token(static_cast<int>(blockIdx.x) * tile_tokens),
        part(static_cast<int>(blockIdx.z)),
        begin(part * parts.units * kUnitSteps),
        end(min(begin + parts.units * kUnitSteps, (p.n_in + kHalfStepValues - 1) / kHalfStepValues)) {}

  __device__ GroupRows rows_of(const Products& p, int group) const {
    const Output& of_group = p.is_gated && group == 1 ? p.outputs[1] : output;
    const int first = first_row + (p.is_gated ? 0 : group * kWarpgroupRows), n = output.n_out - first;
    return {of_group.weight + (n > 0 ? first * output.row_bytes : 0), output.row_bytes, n};
  }
};

// Tiles of tokens that share weights run side by side.
template <int kTokens>
Shape shape_of_tiles(const Products& products, const Parts& parts, int n_threads, size_t shared_bytes) {
  return {.grid = dim3(static_cast<unsigned>(div_up(products.n_tokens, kTokens)),
                       static_cast<unsigned>(products.n_tiles), static_cast<unsigned>(parts.n)),
          .block = dim3(static_cast<unsigned>(n_threads)),
          .shared_bytes = shared_bytes};
}

// By one thread.
template <int kTokens>
__device__ void copy_tokens(uint8_t* stage, Arrivals& there, const WideActivations& x, int first_token,
                            int step) {
  const int n = min(kTokens, x.n_tokens - first_token);
  there.arrive_with(stage, x.step(step, first_token), static_cast<uint32_t>(n * kSwizzledRowBytes));
}

// Starts the products of a step by a warpgroup: its half of the tile's rows, with the tokens.
template <int n_sums>
__device__ void start_step(float (&sums)[n_sums], const uint8_t* rows, const uint8_t* tokens) {
  const uint64_t a = tile_descriptor(rows + static_cast<int>(threadIdx.x) / kWarpgroupThreads *
                                                kWarpgroupRows * kSwizzledRowBytes);
  const uint64_t b = tile_descriptor(tokens);
  pin_sums(sums);
  begin_warpgroup_products();
#pragma unroll
  for (int k = 0; k < kHalfStepValues / 16; ++k) multiply_warpgroup_f16(sums, a + 2 * k, b + 2 * k);
  end_warpgroup_group();
}

// Those who have the tile's sums, which may not be all of a block.
__device__ inline void wait_for_tile() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

// Multiplies a tile's sums by what their tokens are to be multiplied by.
template <int kTokens, class Tile>
__device__ void scale_tile(Tile& tile, const WideActivations& x, const Place& place) {
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
    const int t = place.first_token + 8 * n + static_cast<int>(threadIdx.x) % 4 * 2;
    const float2 scales = t < x.n_tokens ? *reinterpret_cast<const float2*>(x.scales + t) : float2{};
#pragma unroll
    for (int e = 0; e < 4; ++e) tile[0][n][e] *= e % 2 == 0 ? scales.x : scales.y;
  }
}

// Scales and gates a tile of which each thread has both a gate's row and, eight rows behind it, what it
// meets.
template <int kTokens>
__device__ void end_paired_tile(const Products& p, const WideActivations& x, const Place& place,
                                float (&sums)[kTokens / 2]) {
  auto& tile = reinterpret_cast<typename OfTile<kTokens>::Sums&>(sums);
  scale_tile<kTokens>(tile, x, place);
  const int thread = threadIdx.x, lane = thread % 32;
  const int row = place.first_row + thread / 32 * kSwizzledRows + lane / 4;
  const Output &gate = p.outputs[0], &up = p.outputs[1];
  if (row >= gate.n_out) return;
  const float of_gate = gate.bias ? gate.bias[row] : 0, of_up = up.bias ? up.bias[row] : 0;
  float* const to = gate.out + row;
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int t = place.first_token + 8 * n + lane % 4 * 2 + e;
      if (t < p.n_tokens)
        to[static_cast<int64_t>(t) * gate.n_out] =
            silu(tile[0][n][e] + of_gate) * (tile[0][n][2 + e] + of_up);
    }
  }
}

// Scales a tile's sums and leaves, adds up or gates them. `room` is shared memory for what the warpgroups of
// a gate tell each other: half of the sums of both.
template <int kTokens>
__device__ void end_tile(const Products& p, const WideActivations& x, const Place& place, MatmulEnd end,
                         const Parts& parts, const Split& split, float (&sums)[kTokens / 2], uint8_t* room) {
  auto& tile = reinterpret_cast<typename OfTile<kTokens>::Sums&>(sums);
  const int thread = threadIdx.x, lane = thread % 32, group = thread / kWarpgroupThreads;
  scale_tile<kTokens>(tile, x, place);
  if (split.sums) {
    OfTile<kTokens>::leave(split, parts.n, place.part, tile);
    return;
  }
  const Output& output = place.output;
  const bool is_gated = p.is_gated;
  const int in_group = place.first_row + thread % kWarpgroupThreads / 32 * 16 + lane / 4;
  const int row = in_group + (is_gated ? 0 : group * kWarpgroupRows);
  float* const to = output.out + row;
  const int64_t stride = output.n_out;
  const bool has_row[2] = {row < output.n_out, row + 8 < output.n_out};
  const float* const bias_of_group = is_gated && group == 1 ? p.outputs[1].bias : output.bias;
  float bias[2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (bias_of_group && has_row[half]) bias[half] = bias_of_group[row + 8 * half];
  }
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) tile[0][n][e] += bias[e / 2];
  }
  const auto store = [&](int first, int last, const auto& value) {
#pragma unroll
    for (int n = 0; n < kTokens / 8; ++n) {
      if (n < first || n >= last) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int t = place.first_token + 8 * n + lane % 4 * 2 + e % 2;
        if (has_row[e / 2] && t < p.n_tokens) to[t * stride + e / 2 * 8] = value(n, e);
      }
    }
  };
  constexpr int kColumns = kTokens / 8;
  if (!is_gated) {
    if (end == MatmulEnd::add) {
      // Nobody tells the compiler that what is stored is not what is loaded next: many loads come first.
      constexpr int kAtOnce = 4;
#pragma unroll
      for (int first = 0; first < kColumns; first += kAtOnce) {
        float before[kAtOnce][4];
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int t = place.first_token + 8 * (first + n) + lane % 4 * 2 + e % 2;
            if (has_row[e / 2] && t < p.n_tokens) before[n][e] = to[t * stride + e / 2 * 8];
          }
        }
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) tile[0][first + n][e] += before[n][e];
        }
      }
    }
    store(0, kColumns, [&](int n, int e) { return tile[0][n][e]; });
    return;
  }
  // Each warpgroup gates one half of the tokens.
  auto* const told = reinterpret_cast<float*>(room) + thread % kWarpgroupThreads;
  constexpr int kHalfColumns = kColumns / 2, kHalfSums = kHalfColumns * 4;
  wait_for_tile();
#pragma unroll
  for (int i = 0; i < kHalfSums; ++i)
    told[(group * kHalfSums + i) * kWarpgroupThreads] = group == 0 ? sums[kHalfSums + i] : sums[i];
  wait_for_tile();
  const float* const heard = told + (1 - group) * kHalfSums * kWarpgroupThreads;
  if (group == 0) {
    store(0, kHalfColumns,
          [&](int n, int e) { return silu(tile[0][n][e]) * heard[(4 * n + e) * kWarpgroupThreads]; });
  } else {
    store(kHalfColumns, kColumns, [&](int n, int e) {
      return silu(heard[(4 * (n - kHalfColumns) + e) * kWarpgroupThreads]) * tile[0][n][e];
    });
  }
}

}  // namespace parlance::cuda::wide_tile
