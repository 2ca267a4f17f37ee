// Puts the segments together that blocks have left: one block for each head of each token.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kThreads = 128;
static_assert(kMostDecodeSegments <= kThreads && kMostPrefillSegments <= kThreads);

// Block (token, head).
__global__ void __launch_bounds__(kThreads) merge_segments(const __grid_constant__ Params p) {
  __shared__ float2 stats[kThreads],
      factors[kThreads];  // of the segments; what so far and segment are multiplied with
  let_next_start();
  wait_for_previous();
  const int token = blockIdx.x, head = blockIdx.y, thread = threadIdx.x;
  const TokenRun run(p, token, token + 1);
  if (!run.is_served || !is_split(p, run)) return;
  const int n = run.n_segments();
  const int64_t first = partial_row(p, token, head, 0);
  if (thread < n) stats[thread] = p.partials.stats[first + thread];
  __syncthreads();
  if (thread < n) {
    float before = kLowest;
    for (int i = 0; i < thread; ++i) before = fmaxf(before, stats[i].x);
    const Fold fold(before, stats[thread].x);
    factors[thread] = make_float2(fold.keep, fold.add);
  }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = fmaf(stats[i].y, factors[i].y, __fmul_rn(sum, factors[i].x));
  const float* parts = p.partials.out + first * p.head_dim_v;
  float* out = p.out + (static_cast<int64_t>(token) * p.n_head + head) * p.head_dim_v;
  for (int i = thread; i < p.head_dim_v; i += kThreads) {
    float total = 0;
#pragma unroll 8
    for (int segment = 0; segment < n; ++segment) {
      const float2 factor = factors[segment];
      total =
          fmaf(parts[static_cast<int64_t>(segment) * p.head_dim_v + i], factor.y, __fmul_rn(total, factor.x));
    }
    out[i] = finish(total, sum);
  }
}

}  // namespace

void run_merge(Stream& stream, const Params& params) {
  const dim3 grid(static_cast<unsigned>(std::min(params.n_tokens, params.n_split_tokens)),
                  static_cast<unsigned>(params.n_head));
  launch(stream, merge_segments, {.grid = grid, .block = dim3(kThreads)}, params);
}

}  // namespace parlance::cuda::attention
