// Where parts of products are added up to the residual stream: its norm and its rounding in the same kernel,
// with the bits of add_parts() and halve_rows().
#pragma once

#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/wide_rounded.h"
#include "kernels/cuda/matmul/wide_tile.cuh"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda::wide_tile {

inline constexpr int kRoundedValues = kMostRowLanes;  // of a row
inline constexpr int kRoundedTokens = 8;              // of a block: a column of tiles, a warp each

// Block (tokens). Lanes of a warp have a run each of its token.
template <int kColumns>
__global__ void __launch_bounds__(kThreads) add_and_round(const Split split, int n_parts, int n_token_tiles,
                                                          float4* h, int n_tokens, const NextNorm next) {
  using Shares = TileShares<kThreads, kThreads / 32, 1, kColumns>;
  constexpr int kRowTiles = kRoundedValues / kTileRows, kRunValues = kRoundedValues / 32;
  // A run is followed by room, so that lanes' runs lie in different banks, and so do a lane's tokens.
  constexpr int kRunStride = kRunValues + 4, kRowStride = 32 * kRunStride + 4;
  static_assert(kThreads * 4 == kRoundedValues && kThreads / 32 == kRoundedTokens);
  __shared__ __align__(16) float rows[kRoundedTokens][kRowStride];
  const auto place = [](int value) { return value / kRunValues * kRunStride + value % kRunValues; };
  let_next_start();
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  constexpr int kFours = kRunValues / 4;
  float4 weights[kFours];  // which no kernel writes
#pragma unroll
  for (int i = 0; i < kFours; ++i) weights[i] = next.weight[lane * kFours + i];
  wait_for_previous();
  const int first = blockIdx.x * kRoundedTokens, token_tile = blockIdx.x / kColumns,
            column = blockIdx.x % kColumns;
  float4 before[kRoundedTokens];
#pragma unroll
  for (int t = 0; t < kRoundedTokens; ++t)
    before[t] = first + t < n_tokens ? h[static_cast<int64_t>(first + t) * kThreads + thread] : float4{};
  float4 totals[kRowTiles] = {};
  // All that a block waits for is on its way at once: there is one for each multiprocessor.
  constexpr int kPartsAtOnce = 4;
  for (int first_part = 0; first_part < n_parts; first_part += kPartsAtOnce) {
    float4 of[kPartsAtOnce][kRowTiles];
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        if (first_part + part < n_parts)
          of[part][i] = __ldcg(
              Shares::at(split, i * n_token_tiles + token_tile, n_parts, first_part + part, 0, column));
      }
    }
#pragma unroll
    for (int part = 0; part < kPartsAtOnce; ++part) {
      if (first_part + part >= n_parts) continue;
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        totals[i].x = add_part(totals[i].x, of[part][i].x);
        totals[i].y = add_part(totals[i].y, of[part][i].y);
        totals[i].z = add_part(totals[i].z, of[part][i].z);
        totals[i].w = add_part(totals[i].w, of[part][i].w);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
    const float of[4] = {totals[i].x, totals[i].y, totals[i].z, totals[i].w};
#pragma unroll
    for (int e = 0; e < 4; ++e) rows[lane % 4 * 2 + e % 2][place(i * kTileRows + Shares::row(0, e))] = of[e];
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < kRoundedTokens; ++t) {
    auto& of_row = *reinterpret_cast<float4*>(&rows[t][place(4 * thread)]);
    const float4 sum = of_row;
    const float4 v =
        make_float4(before[t].x + sum.x, before[t].y + sum.y, before[t].z + sum.z, before[t].w + sum.w);
    of_row = v;
    if (first + t < n_tokens) h[static_cast<int64_t>(first + t) * kThreads + thread] = v;
  }
  __syncthreads();

  const int token = first + warp;
  if (token >= n_tokens) return;
  float4 values[kFours];
#pragma unroll
  for (int i = 0; i < kFours; ++i)
    values[i] = *reinterpret_cast<const float4*>(&rows[warp][lane * kRunStride + 4 * i]);
  float sums[4];  // as eight lanes add up a run
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const auto square = [&](int i) {
      const float v = reinterpret_cast<const float*>(&values[i])[j];
      return __fmul_rn(v, v);
    };
    const auto pair = [&](int i) { return __fadd_rn(square(i), square(i + 4)); };
    sums[j] = __fadd_rn(__fadd_rn(pair(0), pair(2)), __fadd_rn(pair(1), pair(3)));
  }
  const float sum = sum_of_warp((sums[0] + sums[2]) + (sums[1] + sums[3]));
  const float scale = 1 / sqrtf(sum / static_cast<float>(kRoundedValues) + next.eps);
  float magnitude = 0;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const float4& w = weights[i];
    float4& v = values[i];
    v = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
    magnitude = max_or_nan(magnitude, largest_magnitude(v));
  }
  const RunStep step(magnitude);
  float largest = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float& v = reinterpret_cast<float*>(&values[i])[j];
      v = __fmul_rn(static_cast<float>(step.code(v)), step.step);
      largest = fmaxf(largest, fabsf(v));
      squares += v * v;
    }
  }
  const WideActivations& out = next.rounded;
  const float token_scale = scale_for_f16(max_of_warp(largest)),
              inverse = inverse_of_power_of_two(token_scale);
  squares = sum_of_warp(squares);
  if (lane == 0) {
    out.scales[token] = token_scale;
    out.lengths[token] = sqrtf(squares);
  }
  constexpr int kRunsOfStep = kHalfStepValues / kRunValues, kPiecesOfRun = kRunValues / kPieceValues;
  auto* const to = reinterpret_cast<uint8_t*>(out.step(lane / kRunsOfStep, 0));
#pragma unroll
  for (int i = 0; i < kPiecesOfRun; ++i) {
    const float4 &a = values[2 * i], &b = values[2 * i + 1];
    const __half2 pairs[4] = {
        __floats2half2_rn(a.x * inverse, a.y * inverse), __floats2half2_rn(a.z * inverse, a.w * inverse),
        __floats2half2_rn(b.x * inverse, b.y * inverse), __floats2half2_rn(b.z * inverse, b.w * inverse)};
    *reinterpret_cast<uint4*>(to + swizzled_place(token, lane % kRunsOfStep * kPiecesOfRun + i)) =
        reinterpret_cast<const uint4&>(pairs);
  }
}

template <int kTokens>
void launch_add_and_round(Stream& stream, const Products& products, const Split& split, int n_parts,
                          int n_token_tiles, const NextNorm& next) {
  launch(stream, add_and_round<kTokens / 8>,
         {.grid = dim3(static_cast<unsigned>(div_up(products.n_tokens, kRoundedTokens))),
          .block = dim3(kThreads)},
         split, n_parts, n_token_tiles, reinterpret_cast<float4*>(products.outputs[0].out), products.n_tokens,
         next);
}

}  // namespace parlance::cuda::wide_tile
