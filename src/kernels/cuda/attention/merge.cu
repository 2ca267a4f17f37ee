// Puts the segments together that blocks have left: one block for each head of each token.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kThreads = 128;
constexpr int kAtOnce = 16;  // segments whose values a thread has on their way
static_assert(kMostDecodeSegments <= kThreads && kMostPrefillSegments <= kThreads);

// The largest score of the segments before this thread's.
__device__ float largest_before(float score, float (&of_warps)[kThreads / 32]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int stride = 1; stride < 32; stride *= 2) {
    const float other = __shfl_up_sync(kAllLanes, score, stride);
    if (lane >= stride) score = fmaxf(score, other);
  }
  if (lane == 31) of_warps[warp] = score;
  __syncthreads();
  float before = __shfl_up_sync(kAllLanes, score, 1);
  if (lane == 0) before = kLowest;
  for (int i = 0; i < warp; ++i) before = fmaxf(before, of_warps[i]);
  return before;
}

// Block (token, head).
__global__ void __launch_bounds__(kThreads) merge_segments(const __grid_constant__ Params p) {
  __shared__ float largest_of_warps[kThreads / 32];
  __shared__ float3 segments[kThreads];  // their sum of weights, what so far and they are multiplied with
  let_next_start();
  const int token = blockIdx.x, head = blockIdx.y, thread = threadIdx.x;
  const TokenRun run(p, token, token + 1);  // sequences and positions are not what kernels write
  wait_for_previous();
  if (!run.is_served || !is_split(p, run)) return;
  const int n = run.n_segments();
  const int64_t first = partial_row(p, token, head, 0);
  const float* parts = p.partials.out + first * p.head_dim_v;
  const auto load = [&](float(&values)[kAtOnce], int from, int i) {
#pragma unroll
    for (int at = 0; at < kAtOnce; ++at)
      values[at] = from + at < n ? parts[static_cast<int64_t>(from + at) * p.head_dim_v + i] : 0;
  };
  float values[kAtOnce] = {};
  if (thread < p.head_dim_v) load(values, 0, thread);

  const float2 stats = thread < n ? p.partials.stats[first + thread] : make_float2(kLowest, 0);
  const float before = largest_before(stats.x, largest_of_warps);
  const Fold fold(before, stats.x);
  if (thread < n) segments[thread] = make_float3(stats.y, fold.keep, fold.add);
  __syncthreads();

  float* out = p.out + (static_cast<int64_t>(token) * p.n_head + head) * p.head_dim_v;
  for (int i = thread; i < p.head_dim_v; i += kThreads) {
    if (i != thread) load(values, 0, i);
    float total = 0, sum = 0;
    for (int from = 0; from < n; from += kAtOnce) {
      float next[kAtOnce];
      load(next, from + kAtOnce, i);
#pragma unroll
      for (int at = 0; at < kAtOnce; ++at) {
        if (from + at >= n) break;
        const float3 segment = segments[from + at];
        total = fmaf(values[at], segment.z, __fmul_rn(total, segment.y));
        sum = fmaf(segment.x, segment.z, __fmul_rn(sum, segment.y));
      }
#pragma unroll
      for (int at = 0; at < kAtOnce; ++at) values[at] = next[at];
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
