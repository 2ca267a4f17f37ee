// Tokens rounded to f16 for wide_gemm(), after the norm before the products, where they go through one.
#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

// A thread has four values of each chunk of so many: of all that a block has, or of short tokens, of which a
// block has several.
constexpr int kThreads = 256, kChunk = 4 * kThreads;
static_assert(kChunk == kMostRowLanes);

struct Rounding {
  const float4* x;
  const float4* norm;  // or null
  float eps;
  int n_in, n_padded;  // values, and those of whole steps
  int n_tokens;
};

// Block (tokens, of kOfToken threads each). Threads hold kHeld chunks, as many as there are.
template <WideRounding kRounding, int kHeld, int kOfToken>
__global__ void __launch_bounds__(kThreads) halve_rows(const Rounding p, const WideActivations out) {
  constexpr int kWarps = kOfToken / 32;
  __shared__ float largest_of_warps[kThreads / 32], squares_of_warps[kThreads / 32],
      sums_of_lanes[kMostRowLanes / 32];
  let_next_start();
  const int thread = threadIdx.x % kOfToken,
            token = blockIdx.x * (kThreads / kOfToken) + threadIdx.x / kOfToken;
  const bool exists = token < p.n_tokens;
  const auto place = [&](int i) { return 4 * (i * kOfToken + thread); };
  wait_for_previous();
  const float4* const row = p.x + static_cast<int64_t>(exists ? token : 0) * (p.n_in / 4) + thread;
  float4 values[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) values[i] = place(i) < p.n_in ? row[i * kOfToken] : float4{};
  if (kOfToken == kThreads &&
      p.norm) {  // the sum is that of sum_of_squares(): a thread has four lanes, eight have those of a warp
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (place(i) >= p.n_in) break;
      const float4& v = values[i];
      sums[0] = fmaf(v.x, v.x, sums[0]);
      sums[1] = fmaf(v.y, v.y, sums[1]);
      sums[2] = fmaf(v.z, v.z, sums[2]);
      sums[3] = fmaf(v.w, v.w, sums[3]);
    }
#pragma unroll
    for (int mask = 4; mask > 0; mask /= 2) {
#pragma unroll
      for (float& sum : sums) sum += __shfl_xor_sync(kAllLanes, sum, mask);
    }
    if (thread % 8 == 0) sums_of_lanes[thread / 8] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    __syncthreads();
    const float sum = sum_of_warp(sums_of_lanes[thread % 32]);
    const float scale = 1 / sqrtf(sum / static_cast<float>(p.n_in) + p.eps);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (place(i) >= p.n_in) break;
      const float4 w = p.norm[i * kThreads + thread];
      float4& v = values[i];
      v = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
    }
  }
  float largest = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    float4& v = values[i];
    if constexpr (kRounding == WideRounding::codes) v = rounded_to_codes(v);
    largest = fmaxf(largest, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  largest = max_of_warp(largest);
  squares = sum_of_warp(squares);
  if constexpr (kWarps > 1) {
    if (threadIdx.x % 32 == 0) {
      largest_of_warps[threadIdx.x / 32] = largest;
      squares_of_warps[threadIdx.x / 32] = squares;
    }
    __syncthreads();
    const int first_warp = threadIdx.x / kOfToken * kWarps;
    largest = max_of_warp(largest_of_warps[first_warp + threadIdx.x % kWarps]);
    if (thread == 0) {
      squares = 0;
      for (int i = 0; i < kWarps; ++i) squares += squares_of_warps[first_warp + i];
    }
  }
  if (!exists) return;
  const float scale = scale_for_f16(largest), inverse = inverse_of_power_of_two(scale);
  if (thread == 0) {
    out.scales[token] = scale;
    out.lengths[token] = sqrtf(squares);
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (place(i) >= p.n_padded) break;
    const float4& v = values[i];
    float4 left = make_float4(v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse);
    constexpr int kPasses = kRounding == WideRounding::with_rests ? 2 : 1;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const __half2 pairs[2] = {__floats2half2_rn(left.x, left.y), __floats2half2_rn(left.z, left.w)};
      const int step_of = (place(i) + pass * p.n_padded) / kHalfStepValues;
      auto* const step = reinterpret_cast<uint8_t*>(out.step(step_of, 0));
      const int at = place(i) % kHalfStepValues;
      *reinterpret_cast<uint2*>(step + swizzled_place(token, at / kPieceValues) +
                                at % kPieceValues * static_cast<int>(sizeof(uint16_t))) =
          reinterpret_cast<const uint2&>(pairs);
      const float2 low = __half22float2(pairs[0]), high = __half22float2(pairs[1]);
      left = make_float4(left.x - low.x, left.y - low.y, left.z - high.x, left.w - high.y);
    }
  }
}

constexpr int kMostChunks = kMostWideValues / kChunk;

struct HalveRows {
  void (*kernel)(Rounding, WideActivations);
  int tokens;  // of a block
};

template <WideRounding kRounding>
HalveRows kernel_for(int n_values) {
  if (n_values <= kChunk / 8) return {halve_rows<kRounding, 1, 32>, 8};
  if (n_values <= kChunk / 4) return {halve_rows<kRounding, 1, 64>, 4};
  if (n_values <= kChunk / 2) return {halve_rows<kRounding, 1, 128>, 2};
  const int n_chunks = div_up(n_values, kChunk);
  return {n_chunks == 1    ? halve_rows<kRounding, 1, kThreads>
          : n_chunks <= 2  ? halve_rows<kRounding, 2, kThreads>
          : n_chunks <= 4  ? halve_rows<kRounding, 4, kThreads>
          : n_chunks <= 8  ? halve_rows<kRounding, 8, kThreads>
          : n_chunks <= 16 ? halve_rows<kRounding, 16, kThreads>
                           : halve_rows<kRounding, kMostChunks, kThreads>,
          1};
}

}  // namespace

WideActivations wide_activations_at(std::byte* at, int64_t n_values, int64_t n_tokens) {
  const int64_t n_rows = padded_half_tokens(n_tokens);
  auto* halves = reinterpret_cast<uint16_t*>(at);
  auto* scales = reinterpret_cast<float*>(halves + n_rows * align_up<int64_t>(n_values, kHalfStepValues));
  return {halves, scales, scales + n_rows, scales + 2 * n_rows, static_cast<int>(n_rows)};
}

bool normed_for_wide(const Tensor& x, const Tensor& norm) {
  const auto has_pieces = [](const Tensor& t) {
    return reinterpret_cast<uintptr_t>(t.data) % sizeof(float4) == 0;
  };
  return x.ne[0] % kChunk == 0 && has_pieces(x) && has_pieces(norm);
}

WideActivations halve_for_wide(Stream& stream, const Tensor& x, WideRounding rounding, const Tensor& norm,
                               float eps) {
  const int64_t n_in = x.ne[0], n_padded = align_up<int64_t>(n_in, kHalfStepValues);
  const int64_t n_passes = rounding == WideRounding::with_rests ? 2 : 1;
  const WideActivations out = wide_activations_at(scratch_of(stream), n_passes * n_padded, x.n_rows());
  const auto choose = rounding == WideRounding::codes        ? kernel_for<WideRounding::codes>
                      : rounding == WideRounding::with_rests ? kernel_for<WideRounding::with_rests>
                                                             : kernel_for<WideRounding::halves>;
  const auto [kernel, tokens] = choose(static_cast<int>(n_padded));
  launch(stream, kernel,
         {.grid = dim3(static_cast<unsigned>(div_up<int64_t>(x.n_rows(), tokens))), .block = dim3(kThreads)},
         Rounding{x.as<const float4>(), norm ? norm.as<const float4>() : nullptr, eps, static_cast<int>(n_in),
                  static_cast<int>(n_padded), static_cast<int>(x.n_rows())},
         out);
  return out;
}

}  // namespace parlance::cuda
