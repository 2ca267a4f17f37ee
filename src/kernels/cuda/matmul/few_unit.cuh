// What a warp multiplies at once for a few tokens: a unit of a tile of weights' rows (few_weights.cuh), and
// that of the tokens (few_steps.cuh).
#pragma once

#include "kernels/cuda/matmul/few_tokens.cuh"
#include "kernels/cuda/matmul/few_weights.cuh"
#include "kernels/cuda/matmul/run_sums.cuh"

namespace parlance::cuda {

// The tokens of a warp's columns, of a unit that lies in shared memory.
template <class Type, int kColumns>
struct UnitTokens {
  static_assert(kOffsetOf<Type> == 0 || kOffsetOf<Type> == Q4_0::kOffset);  // what scales are for
  const uint8_t* codes;  // for this lane to load matrices of one column, or two, of the first run
  const float4* scales;  // of this lane's two tokens in the first column
  const float4* sums;    // for types with minimums

  __device__ UnitTokens(const uint8_t* unit, const UnitLayout& layout, int first_column) {
    constexpr int kStride = UnitLayout::kCodeStride;
    const int lane = threadIdx.x % 32;
    codes = unit + layout.codes(first_column) +
            (kColumns == 1 ? lane % 8 * kStride + lane / 8 % 2 * kPieceBytes : offset_in_b(lane, kStride));
    scales = reinterpret_cast<const float4*>(unit + layout.scales(first_column)) + lane % 4;
    sums = reinterpret_cast<const float4*>(unit + layout.sums(first_column)) + lane % 4;
  }
  __device__ void load_codes(int run, int two_columns, uint32_t (&b)[4]) const {
    load_matrices(b, codes + 2 * two_columns * UnitLayout::kColumnCodes + run * kRunValues);
  }
  // float4 of two tokens, of both that a run has.
  __device__ static int at(int run, int column) { return (column * kUnitRuns + run) * kColumnTokens / 2; }
};

// What a warp has of a tile: 16 rows, and 8 tokens for each column.
template <int kColumns>
using TileSums = float[kColumns][4];

template <int kColumns>
__device__ void clear(TileSums<kColumns>& sums) {
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[column][i] = 0;
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

template <class Type, int kColumns, class Stages>
__device__ void multiply_unit(const Stages& stages, const uint8_t* stage, const UnitScales<Type>& scales,
                              const UnitTokens<Type, kColumns>& x, TileSums<kColumns>& acc) {
  constexpr int kHalves = UnitScales<Type>::kHalves;
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
#pragma unroll
    for (int two = 0; two < (kColumns + 1) / 2; ++two) x.load_codes(run, two, b[two]);
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const float4 of_tokens = x.scales[x.at(run, column)];
      float4 x_sums{};
      if constexpr (Type::kHasMinimum) x_sums = x.sums[x.at(run, column)];
      const IntegerZeros zeros =
          kOffsetOf<Type> != 0 ? IntegerZeros{of_tokens.y, of_tokens.w} : IntegerZeros{};
      const uint32_t(&of_pair)[4] = b[column / 2];
      add_run<Type>(acc[column], a, of_pair[column % 2 * 2], of_pair[column % 2 * 2 + 1], steps, minimums,
                    make_float2(of_tokens.x, of_tokens.z), x_sums, zeros);
    }
  }
}

}  // namespace parlance::cuda
