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
template <int kOfThreads>
__device__ void wait_for_tile() {
  asm volatile("bar.sync 1, %0;" ::"n"(kOfThreads) : "memory");
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

// A tile in shared memory, on its way from registers, of which a warp's lie in many lines of memory, to where
// a warp stores whole lines of it.
template <int kTokens, int kRows>
struct TileRoom {
  // Rows that follow each other, of every second of eight tokens, lie in different banks.
  static constexpr int kStride = kRows + 4;
  static constexpr size_t kBytes = static_cast<size_t>(kTokens) * kStride * sizeof(float);
  float* values;  // [kStride, kTokens]

  __device__ float& at(int token, int row) const { return values[token * kStride + row]; }
  __device__ float4 four_at(int token, int row) const {
    return *reinterpret_cast<const float4*>(&at(token, row));
  }

  // The first kOutRows rows, or what of(token, row) makes of four values each, by so many threads.
  template <int kOutRows, int kOfThreads, class Of>
  __device__ void store(const Output& output, int first_row, int first_token, int n_tokens, bool is_added,
                        const Of& of) const {
    constexpr int kFours = kOutRows / 4, kTokensAtOnce = kOfThreads / kFours, kAtOnce = 4;
    static_assert(kOfThreads % kFours == 0);
    const int own = static_cast<int>(threadIdx.x) / kFours, row = static_cast<int>(threadIdx.x) % kFours * 4;
    const int n = min(output.n_out - first_row - row, 4);  // that exist; none or less, perhaps
    const int64_t stride = output.n_out;
    float* const to = output.out + first_row + row + first_token * stride;
    const bool are_aligned =
        output.n_out % 4 == 0 && reinterpret_cast<uintptr_t>(output.out + first_row) % sizeof(float4) == 0;
    if (n <= 0) return;
    // Nobody tells the compiler that what is stored is not what is loaded next: loads come first.
    for (int first = own; first < n_tokens; first += kAtOnce * kTokensAtOnce) {
      alignas(float4) float before[kAtOnce][4] = {};
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int t = first + i * kTokensAtOnce;
        if (!is_added || t >= n_tokens) continue;
        if (are_aligned) {
          reinterpret_cast<float4&>(before[i]) = *reinterpret_cast<const float4*>(to + t * stride);
          continue;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (e < n) before[i][e] = to[t * stride + e];
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int t = first + i * kTokensAtOnce;
        if (t >= n_tokens) continue;
        const float4 four = of(t, row);
        float v[4] = {four.x, four.y, four.z, four.w};
        if (is_added) {
#pragma unroll
          for (int e = 0; e < 4; ++e) v[e] += before[i][e];
        }
        if (are_aligned) {
          *reinterpret_cast<float4*>(to + t * stride) = make_float4(v[0], v[1], v[2], v[3]);
          continue;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (e < n) to[t * stride + e] = v[e];
        }
      }
    }
  }
};

// Puts a tile's sums with their biases into its room, for all of those threads to read.
template <int kTokens, int kRows, int kOfThreads>
__device__ TileRoom<kTokens, kRows> to_room(const Products& p, const Place& place,
                                            const float (&sums)[kTokens / 2], uint8_t* shared) {
  const auto& tile = reinterpret_cast<const typename OfTile<kTokens>::Sums&>(sums);
  const int thread = threadIdx.x, lane = thread % 32, group = thread / kWarpgroupThreads;
  const int own = group * kWarpgroupRows + thread % kWarpgroupThreads / 32 * 16 + lane / 4;
  constexpr int kGates = kRows / 2;
  float bias[2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int of_tile = own + 8 * half;
    const bool is_met = p.is_gated && of_tile >= kGates;
    const int row = place.first_row + (is_met ? of_tile - kGates : of_tile);
    const float* const of_output = is_met ? p.outputs[1].bias : place.output.bias;
    if (of_output && row < place.output.n_out) bias[half] = of_output[row];
  }
  const TileRoom<kTokens, kRows> room{reinterpret_cast<float*>(shared)};
  wait_for_tile<kOfThreads>();
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      room.at(8 * n + lane % 4 * 2 + e % 2, own + e / 2 * 8) = tile[0][n][e] + bias[e / 2];
  }
  wait_for_tile<kOfThreads>();
  return room;
}

// Scales a tile's sums and leaves, adds up or gates them. Of a gate's tile, the second half of the rows is
// what the first meets. `shared` has TileRoom<kTokens, kRows>::kBytes.
template <int kTokens, int kRows = kTileRows, int kOfThreads = kThreads>
__device__ void end_tile(const Products& p, const WideActivations& x, const Place& place, MatmulEnd end,
                         const Parts& parts, const Split& split, float (&sums)[kTokens / 2],
                         uint8_t* shared) {
  auto& tile = reinterpret_cast<typename OfTile<kTokens>::Sums&>(sums);
  scale_tile<kTokens>(tile, x, place);
  if (split.sums) {
    OfTile<kTokens>::leave(split, parts.n, place.part, tile);
    return;
  }
  const auto room = to_room<kTokens, kRows, kOfThreads>(p, place, sums, shared);
  const int n_tokens = min(kTokens, p.n_tokens - place.first_token);
  if (!p.is_gated) {
    room.template store<kRows, kOfThreads>(place.output, place.first_row, place.first_token, n_tokens,
                                           end == MatmulEnd::add,
                                           [&](int t, int r) { return room.four_at(t, r); });
    return;
  }
  constexpr int kGates = kRows / 2;
  room.template store<kGates, kOfThreads>(
      place.output, place.first_row, place.first_token, n_tokens, false, [&](int t, int r) {
        const float4 gate = room.four_at(t, r), up = room.four_at(t, kGates + r);
        return make_float4(silu(gate.x) * up.x, silu(gate.y) * up.y, silu(gate.z) * up.z,
                           silu(gate.w) * up.w);
      });
}

}  // namespace parlance::cuda::wide_tile
