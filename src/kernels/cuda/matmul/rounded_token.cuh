// A token as bytes in a block's shared memory, for the kernels that take one alone: normalised first, where
// that is asked for. Eight lanes round a run, or of long tokens two, so that what a run needs once is
// computed twice and no more.
#pragma once

#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/weights.cuh"

namespace parlance::cuda {

// How the token's runs lie in memory: part by part, such that parts begin in different banks.
struct TokenLayout {
  int part_runs, n_parts;
  int inverse;  // of part_runs: a quotient is a product and a shift

  static constexpr int kShift = 20, kPadding = 16;
  static constexpr int kAlignment = 128;  // of what may lie behind the token
  TokenLayout() = default;
  __host__ __device__ TokenLayout(int part_runs, int n_parts)
      : part_runs(part_runs), n_parts(n_parts), inverse((1 << kShift) / part_runs + 1) {}

  __host__ __device__ int codes_bytes() const { return n_parts * (part_runs * kRunValues + kPadding); }
  __host__ __device__ int bytes() const {
    const int n_scales = n_parts * (part_runs + 1);
    return (codes_bytes() + n_scales * static_cast<int>(sizeof(RunScale)) + kAlignment - 1) / kAlignment *
           kAlignment;
  }
};

// Of weights whose codes are so much above what they stand for, activations' sums tell what is too much.
// kOffset 0: the sums of the halves of a run are kept.
template <int kOffset>
class RoundedToken {
 public:
  uint8_t* memory;
  TokenLayout layout;

  __device__ RoundedToken(uint8_t* memory, const TokenLayout& layout) : memory(memory), layout(layout) {}
  __device__ uint8_t* codes(int part, int run) const {
    return memory + (part * layout.part_runs + run) * kRunValues + part * TokenLayout::kPadding;
  }
  __device__ RunScale* scale(int part, int run) const {
    return reinterpret_cast<RunScale*>(memory + layout.codes_bytes()) + part * layout.part_runs + run + part;
  }

  // Quad `quad` of the token; by whole warps, of which each lane has one, eight a run.
  __device__ void store(int quad, const float4& values) const {
    const QuantisedRun rounded = quantised_run(values);
    const int second_sum = __shfl_down_sync(kAllLanes, rounded.half_sum, kRunLanes / 2);
    const Place place(layout, quad / kRunLanes);
    reinterpret_cast<uint32_t*>(codes(place.part, place.run))[quad % kRunLanes] = rounded.codes;
    if (quad % kRunLanes == 0) store_scale(place, rounded.step, rounded.half_sum, second_sum);
  }
  // Half `half` of the token's runs, counted through all of them, by this lane; its neighbour has the other.
  // `lanes`: those of the warp that have one.
  __device__ void store(int half, const float (&values)[kHalfRunValues], unsigned lanes) const {
    const HalfRun rounded = half_of_run(values, lanes);
    const Place place(layout, half / 2);
    reinterpret_cast<uint4*>(codes(place.part, place.run))[half % 2] =
        make_uint4(rounded.codes[0], rounded.codes[1], rounded.codes[2], rounded.codes[3]);
    if (half % 2 == 0) store_scale(place, rounded.step, rounded.sum, rounded.other_sum);
  }

 private:
  struct Place {
    int part, run;  // and the run of the part
    __device__ Place(const TokenLayout& layout, int of_token)
        : part(of_token * layout.inverse >> TokenLayout::kShift), run(of_token - part * layout.part_runs) {}
  };
  __device__ void store_scale(const Place& place, float step, int first_sum, int second_sum) const {
    *scale(place.part, place.run) = {
        step, kOffset != 0 ? -kOffset * (first_sum + second_sum) : (first_sum & 0xffff) | second_sum << 16};
  }
};

__device__ inline void load_half_run(const float* from, int half, float (&values)[kHalfRunValues]) {
#pragma unroll
  for (int i = 0; i < kHalfRunValues; i += 4) {
    const float4 quad = reinterpret_cast<const float4*>(from)[half * (kHalfRunValues / 4) + i / 4];
    values[i] = quad.x, values[i + 1] = quad.y, values[i + 2] = quad.z, values[i + 3] = quad.w;
  }
}

// Tokens of up to so many values are rounded by as many threads as have a quad, which takes the least time;
// of longer ones, it is their instructions that take long.
constexpr int kMostQuadValues = kQuad * kLaneQuads;

// Rounds a token of n values, a multiple of kQuantisedUnitValues, by a block of at least kLaneQuads threads;
// with a barrier in it where `norm` is there. wait() comes before the token is read, meanwhile() when it is
// asked for.
template <int kOffset, class Wait, class Meanwhile>
__device__ void round_token(const RoundedToken<kOffset>& token, const float* x, int n, const float* norm,
                            float eps, float (&partial)[kMostRowLanes / 32], const Wait& wait,
                            const Meanwhile& meanwhile) {
  const int thread = threadIdx.x, n_threads = static_cast<int>(blockDim.x);
  if (n <= kMostQuadValues) {
    const bool has_quad = thread < n / kQuad;
    float4 weights = {}, values = {};
    if (norm && has_quad) weights = reinterpret_cast<const float4*>(norm)[thread];
    wait();
    if (has_quad) values = reinterpret_cast<const float4*>(x)[thread];
    meanwhile();
    if (norm) {
      SquaresOfRow squares;
      squares.add(values);
      if (has_quad) squares.leave(thread, partial);
      __syncthreads();
      values = normalised(values, scale_of_squares(partial, n, eps), weights);
    }
    if (has_quad) token.store(thread, values);
    return;
  }
  // The first half of a run that a thread has, and its weights, are on their way early.
  const int n_halves = n / kHalfRunValues;
  float weights[kHalfRunValues], values[kHalfRunValues];
  if (norm && thread < n_halves) load_half_run(norm, thread, weights);
  wait();
  if (thread < n_halves) load_half_run(x, thread, values);
  meanwhile();
  float scale = 1;
  if (norm) {
    leave_squares(x, n, partial);
    __syncthreads();
    scale = scale_of_squares(partial, n, eps);
  }
  for (int half = thread; half < n_halves; half += n_threads) {
    if (half != thread) {
      load_half_run(x, half, values);
      if (norm) load_half_run(norm, half, weights);
    }
    if (norm) {
#pragma unroll
      for (int i = 0; i < kHalfRunValues; ++i) values[i] = values[i] * scale * weights[i];
    }
    // Halves are a multiple of sixteen.
    token.store(half, values, half - thread % 32 + 32 <= n_halves ? kAllLanes : kAllLanes >> 16);
  }
}

}  // namespace parlance::cuda
