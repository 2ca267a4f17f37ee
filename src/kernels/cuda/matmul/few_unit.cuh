// What a warp multiplies at once for a few tokens: a unit of a tile of weights' rows (few_weights.cuh), and
// those values of the tokens that are in the block's shared memory.
#pragma once

#include "kernels/cuda/matmul/few_tokens.h"
#include "kernels/cuda/matmul/few_weights.cuh"
#include "kernels/cuda/matmul/run_sums.cuh"

namespace parlance::cuda {

inline constexpr int kColumnTokens = 8;        // of a column of tiles
inline constexpr int kCodesPad = kPieceBytes;  // tokens' codes begin in different banks

// A block's part of the tokens, in shared memory. scales and sums as those of FewTokens.
template <class Type, int kColumns>
struct OwnTokens {
  static_assert(kOffsetOf<Type> == 0 || kOffsetOf<Type> == Q4_0::kOffset);  // what scales are for
  static constexpr int kRoom = kColumns * kColumnTokens;
  static constexpr int kScaleBytes = static_cast<int>(sizeof(float2)) * kRoom;  // of a run
  uint8_t* codes;
  float2* scales;
  float2* sums;  // for types with minimums
  int stride;    // from token to token

  __host__ __device__ static int bytes(int n_values) {
    return kRoom * (n_values + kCodesPad) + n_values / kRunValues * kScaleBytes * (Type::kHasMinimum ? 2 : 1);
  }

  __device__ OwnTokens(uint8_t* memory, int n_values)
      : codes(memory),
        scales(reinterpret_cast<float2*>(memory + kRoom * (n_values + kCodesPad))),
        sums(scales + n_values / kRunValues * kRoom),
        stride(n_values + kCodesPad) {}

  // By a warp: values [first, first + n) of all tokens.
  __device__ void copy(const FewTokens& from, int first, int n, Arrivals& there) const {
    const int lane = threadIdx.x % 32, first_run = first / kRunValues, n_runs = n / kRunValues;
    constexpr int kArrays = Type::kHasMinimum ? 2 : 1;
    if (lane == 0)
      there.arrive_before(static_cast<uint32_t>(from.n_tokens * n + kArrays * n_runs * kScaleBytes));
    __syncwarp();
    if (n == 0) return;
    for (int token = lane; token < from.n_tokens; token += 32) {
      there.copy(codes + token * stride, from.codes + static_cast<int64_t>(token) * from.n_in + first,
                 static_cast<uint32_t>(n));
    }
    const auto n_bytes = static_cast<uint32_t>(n_runs * kScaleBytes);
    if (lane == 0) there.copy(scales, from.scales + first_run * kRoom, n_bytes);
    if (Type::kHasMinimum && lane == 1) there.copy(sums, from.sums + first_run * kRoom, n_bytes);
  }
};

// What a warp has of a tile: 16 rows, and 8 tokens for each column.
template <int kColumns>
using TileSums = float[kColumns][4];

template <int kColumns>
__device__ void add_part(TileSums<kColumns>& so_far, const TileSums<kColumns>& part) {
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
#pragma unroll
    for (int i = 0; i < 4; ++i) so_far[column][i] = add_part(so_far[column][i], part[column][i]);
  }
}

// Scales of all rows of a unit, where many instructions unpack them.
template <class Type>
struct UnitScales {
  static constexpr int kHalves = Type::kHalves ? 2 : 1;
  // Where each run has a step of its own in its block, lanes read it with the run.
  static constexpr bool kAreRead = Type::kBlockRuns == 1 && kHasWholePieces<Type>;
  static constexpr int kRuns = kAreRead ? 0 : kUnitRuns * kHalves;
  static constexpr int kBytes =
      kRuns * kFewRows * static_cast<int>(sizeof(float)) * (Type::kHasMinimum ? 2 : 1);

  float* steps;  // [kFewRows, kRuns]; behind them as many minimums

  template <class Stages>
  __device__ void unpack(const Stages& stages, const uint8_t* stage) const {
    if constexpr (!kAreRead) {
      const uint8_t* const own = stages.scaled_row(stage);
      const int lane = threadIdx.x % 32;
#pragma unroll
      for (int i = 0; i < kUnitRuns * kFewRows / 32; ++i) {
        const int run = i * 32 / kFewRows + lane / kFewRows;
        Run w;
        Type::unpack_scales(own + run / Type::kBlockRuns * Type::kBlockBytes, run % Type::kBlockRuns, w);
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          const int at = (run * kHalves + half) * kFewRows + lane % kFewRows;
          steps[at] = w.step[half];
          if constexpr (Type::kHasMinimum) steps[kRuns * kFewRows + at] = w.minimum[half];
        }
      }
      __syncwarp();
    }
  }
};

// Where a run's block lies in a row of a stage: where that is known when compiled, so is what loads it.
template <class Type>
__device__ auto find_block(const uint8_t* row, int run) {
  const int at = run / Type::kBlockRuns * Type::kBlockBytes;
  if constexpr (kHasWholePieces<Type>) {
    return BytesAt{row, at};
  } else {
    return row + at;
  }
}

// Adds the unit whose first run is `first_run` among the block's.
template <class Type, int kColumns, class Stages>
__device__ void multiply_unit(const Stages& stages, const uint8_t* stage, const UnitScales<Type>& scales,
                              const OwnTokens<Type, kColumns>& x, int first_run, TileSums<kColumns>& acc) {
  constexpr int kHalves = UnitScales<Type>::kHalves, kTokens = OwnTokens<Type, kColumns>::kRoom;
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4;
  const uint8_t* const rows[2] = {stages.multiplied_row(stage, 0), stages.multiplied_row(stage, 1)};
#pragma unroll
  for (int run = 0; run < kUnitRuns; ++run) {
    uint32_t a[4], b[(kColumns + 1) / 2][4];
    float steps[kHalves][2], minimums[kHalves][2] = {};
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const auto block = find_block<Type>(rows[e], run);
      uint32_t words[2];
      if constexpr (kOffsetOf<Type> != 0) {
        Type::unpack_offset_words(block, i, words);
      } else {
        Type::unpack_words(block, run % Type::kBlockRuns, i, words);
      }
      a[e] = words[0], a[e + 2] = words[1];
      if constexpr (UnitScales<Type>::kAreRead) {
        Run w;
        Type::unpack_scales(block, 0, w);
        steps[0][e] = w.step[0];
        if constexpr (Type::kHasMinimum) minimums[0][e] = w.minimum[0];
      } else {
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          const float* const step = scales.steps + (run * kHalves + half) * kFewRows + g + 8 * e;
          steps[half][e] = step[0];
          if constexpr (Type::kHasMinimum) minimums[half][e] = step[UnitScales<Type>::kRuns * kFewRows];
        }
      }
    }
    const uint8_t* const codes = x.codes + (first_run + run) * kRunValues;
    if constexpr (kColumns == 1) {
      load_matrices(b[0], codes + lane % 8 * x.stride + lane / 8 % 2 * kPieceBytes);
    } else {
#pragma unroll
      for (int two = 0; two < kColumns / 2; ++two)
        load_matrices(b[two], codes + two * 2 * kColumnTokens * x.stride + offset_in_b(lane, x.stride));
    }
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int at = (first_run + run) * kTokens + column * kColumnTokens + 2 * i;
      const float4 of_tokens = *reinterpret_cast<const float4*>(x.scales + at);
      float4 x_sums{};
      if constexpr (Type::kHasMinimum) x_sums = *reinterpret_cast<const float4*>(x.sums + at);
      const IntegerZeros zeros =
          kOffsetOf<Type> != 0 ? IntegerZeros{of_tokens.y, of_tokens.w} : IntegerZeros{};
      const uint32_t(&of_pair)[4] = b[column / 2];
      add_run<Type>(acc[column], a, of_pair[column % 2 * 2], of_pair[column % 2 * 2 + 1], steps, minimums,
                    make_float2(of_tokens.x, of_tokens.z), x_sums, zeros);
    }
  }
}

}  // namespace parlance::cuda
