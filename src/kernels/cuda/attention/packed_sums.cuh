// What a warp of a PackedWorker has of the keys of a segment so far: of each row the largest score that
// weights are against, their sum, and weighted values, as tensor cores leave them.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/packed_layout.cuh"
#include "kernels/cuda/attention/packed_queries.cuh"

namespace parlance::cuda::attention {

// What weights are against: a score that changes seldom, which is below none by more than `below`, and above
// the largest one by `above` when it changes, both as powers of two.
struct WeightReference {
  float below, above;
};

// kMayBeAlone: a warp may have all of a segment, see join().
template <int kRows, int kHeadDim, bool kMayBeAlone>
struct PackedSums {
  using Columns = RowColumns<kRows>;
  static constexpr int kTiles = Columns::kTiles, kSides = Columns::kSides, kTileRows = Columns::kTileRows;
  static constexpr int kSteps = kHeadDim / 16;
  static_assert(!kMayBeAlone || kTiles * kSides == 1);

  float largest[kTiles][kSides], sum[kTiles][kSides];  // of columns; the latter: this lane's part
  float out[kTiles][kSteps][4];                        // rows are elements of values, in the order of Codes

  __device__ void start() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int side = 0; side < kSides; ++side) largest[tile][side] = kLowest, sum[tile][side] = 0;
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) out[tile][i][j] = 0;
      }
    }
  }

  // Of a lane's columns, whose largest scores of some keys are those of some lanes.
  __device__ void raise(int tile, float (&scores)[kSides], const WeightReference& reference) {
#pragma unroll
    for (int mask = 4; mask < 32; mask *= 2) {  // side by side: each waits for what other lanes have
#pragma unroll
      for (float& score : scores) score = fmaxf(score, __shfl_xor_sync(0xffffffff, score, mask));
    }
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      float& most = largest[tile][side];
      if (!(scores[side] > most + reference.below)) continue;
      const float before = most;
      most = scores[side] + reference.above;
      const float keep = exp2_flushed(before - most);
      sum[tile][side] *= keep;
#pragma unroll
      for (int i = 0; i < kSteps; ++i) out[tile][i][side] *= keep, out[tile][i][side + 2] *= keep;
    }
  }

  // What RowsSoFar has of a segment, for a warp that has all of it: of the tile's other column, which is
  // nobody's and stays 0 otherwise, the elements. An infinite value is no number there: its weight is 0.
  struct Joined {
    float largest = kLowest, sum = 0;
  };
  // A turn's keys join those of the turns before it.
  __device__ void join(Joined& joined) {
    if constexpr (kMayBeAlone) {
      add_lanes(sum[0]);
      const Fold fold(joined.largest, largest[0][0]);
      joined.largest = fold.largest;
      joined.sum = fold(joined.sum, sum[0][0]);
#pragma unroll
      for (int t = 0; t < kSteps; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float &of_turn = out[0][t][2 * half], &so_far = out[0][t][2 * half + 1];
          so_far = fold(so_far, of_turn);
          of_turn = 0;
        }
      }
      largest[0][0] = kLowest;
      sum[0][0] = 0;
    }
  }
  // All turns', in place of the last one's.
  __device__ void take_joined(const Joined& joined) {
    if constexpr (kMayBeAlone) {
      largest[0][0] = joined.largest;
      sum[0][0] = lane() < 4 ? joined.sum : 0;
#pragma unroll
      for (int t = 0; t < kSteps; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) out[0][t][2 * half] = out[0][t][2 * half + 1];
      }
    }
  }

  // Of rows from `first_row` on, as many as a part has. with_v: calls its argument with the values' format.
  template <class Parts, class WithV>
  __device__ void leave(const Parts& parts, int part, int first_row, const WithV& with_v) const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const int row = tile * kTileRows + Columns::own_row(0) - first_row;  // the first of kSides
      float sums[kSides];
#pragma unroll
      for (int side = 0; side < kSides; ++side) sums[side] = sum[tile][side];
      add_lanes(sums);
      if (row < 0 || row >= Parts::kRows) continue;
      with_v([&](auto format) {
        using V = Codes<decltype(format)::value, kValuePairs<kHeadDim>>;
        const int first = V::place(lane() / 4, 0, 0);
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
          float* const to = &parts.element(part, row + side, first);
#pragma unroll
          for (int t = 0; t < kSteps; ++t) {
#pragma unroll
            for (int half = 0; half < 2; ++half)
              to[Parts::apart(V::place(0, t, half))] = out[tile][t][2 * half + side];
          }
        }
      });
      if (lane() >= 4) continue;
#pragma unroll
      for (int side = 0; side < kSides; ++side)
        parts.stats[part * Parts::kRows + row + side] = make_float2(largest[tile][side], sums[side]);
    }
  }

 private:
  __device__ static int lane() {
    return threadIdx.x % 32;
  }

  // This lane's part of a column's sum becomes all of it.
  template <int n>
  __device__ static void add_lanes(float (&sums)[n]) {
#pragma unroll
    for (int mask = 4; mask < 32; mask *= 2) {
#pragma unroll
      for (float& lanes : sums) lanes += __shfl_xor_sync(0xffffffff, lanes, mask);
    }
  }
};

}  // namespace parlance::cuda::attention
