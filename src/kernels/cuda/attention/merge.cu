// Puts the segments together that blocks have left, and what two kinds of pages have yielded: one block for
// each head of each token.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kThreads = 128;
constexpr int kAtOnce = 16;  // segments whose values a thread has on their way
static_assert(kMostDecodeSegments <= kThreads && kMostPrefillSegments <= kThreads);
static_assert(kMostJoinedValues <= kThreads);

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

// What a row's keys have yielded: the largest score, the sum of weights, and a thread's sum of weighted
// values.
struct RowSums {
  float largest, weights, value;
};

// The segments of a row that blocks have left, put together: value `i`, which begins in `values`.
struct SegmentSums {
  float3 segments[kThreads];  // their sum of weights, what so far and they are multiplied with
  float largest_of_warps[kThreads / 32];

  // By the whole block. n is above 0.
  __device__ float start(const Params& p, int64_t first, int n) {
    const int thread = threadIdx.x;
    const float2 stats = thread < n ? p.partials.stats[first + thread] : make_float2(kLowest, 0);
    const float before = largest_before(stats.x, largest_of_warps);
    const Fold fold(before, stats.x);
    if (thread < n) segments[thread] = make_float3(stats.y, fold.keep, fold.add);
    __syncthreads();
    float largest = kLowest;
    for (int i = 0; i < kThreads / 32; ++i) largest = fmaxf(largest, largest_of_warps[i]);
    return largest;
  }
  template <class Load>
  __device__ void add(float (&values)[kAtOnce], int n, const Load& load, float& total, float& sum) const {
    for (int from = 0; from < n; from += kAtOnce) {
      float next[kAtOnce];
      load(next, from + kAtOnce);
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
  }
};

// Block (token, head).
__global__ void __launch_bounds__(kThreads) merge_segments(const __grid_constant__ Params p) {
  __shared__ SegmentSums segments;
  let_next_start();
  const int token = blockIdx.x, head = blockIdx.y, thread = threadIdx.x;
  const TokenRun run(p, token, token + 1);  // sequences and positions are not what kernels write
  wait_for_previous();
  if (!run.is_served || !is_split(p, run) || run.n_segments() == 0) return;
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
  const float largest = segments.start(p, first, n);

  const int64_t row = static_cast<int64_t>(token) * p.n_head + head;
  float* out = p.out + row * p.head_dim_v;
  for (int i = thread; i < p.head_dim_v; i += kThreads) {
    if (i != thread) load(values, 0, i);
    float total = 0, sum = 0;
    segments.add(
        values, n, [&](float(&next)[kAtOnce], int from) { load(next, from, i); }, total, sum);
    out[i] = p.stats ? total : finish(total, sum);
    if (p.stats && i == 0) p.stats[row] = make_float2(largest, sum);
  }
}

// What one kind of pages has yielded for a row, of which each thread has a value.
__device__ RowSums sums_of(const Params& p, SegmentSums& segments, const TokenRun& run, int token, int head) {
  const int n = run.n_segments(), i = threadIdx.x;
  RowSums sums{kLowest, 0, 0};
  if (n == 0) return sums;
  if (!is_split(p, run)) {
    const int64_t row = static_cast<int64_t>(token) * p.n_head + head;
    const float2 stats = p.stats[row];
    return {stats.x, stats.y, i < p.head_dim_v ? p.out[row * p.head_dim_v + i] : 0};
  }
  const int64_t first = partial_row(p, token, head, 0);
  const float* parts = p.partials.out + first * p.head_dim_v;
  const auto load = [&](float(&values)[kAtOnce], int from) {
#pragma unroll
    for (int at = 0; at < kAtOnce; ++at)
      values[at] =
          from + at < n && i < p.head_dim_v ? parts[static_cast<int64_t>(from + at) * p.head_dim_v + i] : 0;
  };
  float values[kAtOnce];
  load(values, 0);
  sums.largest = segments.start(p, first, n);
  segments.add(values, n, load, sums.value, sums.weights);
  return sums;
}

// Butterflies of from_stored() by the block, a value a thread.
__device__ float hadamard_by_block(float value, int block, float (&x)[kThreads]) {
  const int i = threadIdx.x;
  for (int len = 1; len < block; len *= 2) {
    __syncthreads();
    x[i] = value;
    __syncthreads();
    const float other = x[i ^ len];
    value = i & len ? __fsub_rn(other, value) : __fadd_rn(value, other);
  }
  return value;
}

__device__ float from_stored_by_block(KvTransform transform, float value, int n, float (&x)[kThreads]) {
  const int i = threadIdx.x;
  switch (transform) {
    case KvTransform::hadamard: {
      const int block = rotated_block(n);
      if (block == 1) return value;
      const auto root = static_cast<float>(1 / sqrt(static_cast<double>(block)));
      return __fmul_rn(hadamard_by_block(value, block, x), root);
    }
    case KvTransform::signed_hadamard_32:
      return __fmul_rn(hadamard_by_block(value, 32, x), kInverseRoot32 * kSignsOf32.of[i % 32]);
    case KvTransform::signed_hadamard_128:
      value = __fmul_rn(value, kSignsAfter128.of[i]);
      return __fmul_rn(hadamard_by_block(value, 128, x), kInverseRoot128 * kSignsBefore128.of[i]);
    case KvTransform::hadamard_128:
      return __fmul_rn(hadamard_by_block(value, 128, x), 1.0f / 128);
    default:
      return value;
  }
}

// Block (token, head).
__global__ void __launch_bounds__(kThreads)
    merge_and_join(const __grid_constant__ Params main, const __grid_constant__ Params exact,
                   KvTransform of_values, float* out) {
  __shared__ SegmentSums segments[2];
  __shared__ float x[kThreads];
  let_next_start();
  const int token = blockIdx.x, head = blockIdx.y, i = threadIdx.x, n = main.head_dim_v;
  const bool has_exact = exact.page_table;
  const TokenRun run_of_main(main, token, token + 1);
  const TokenRun run_of_exact(has_exact ? exact : main, token, token + 1);
  wait_for_previous();
  RowSums of_main = sums_of(main, segments[0], run_of_main, token, head);
  if (run_of_main.n_segments() > 0) of_main.value = from_stored_by_block(of_values, of_main.value, n, x);
  const RowSums of_exact =
      has_exact ? sums_of(exact, segments[1], run_of_exact, token, head) : RowSums{kLowest, 0, 0};
  const Fold fold(of_main.largest, of_exact.largest);
  if (i >= n) return;
  out[(static_cast<int64_t>(token) * main.n_head + head) * n + i] =
      finish(fold(of_main.value, of_exact.value), fold(of_main.weights, of_exact.weights));
}

}  // namespace

void run_merge(Stream& stream, const Params& params) {
  const dim3 grid(static_cast<unsigned>(std::min(params.n_tokens, params.n_split_tokens)),
                  static_cast<unsigned>(params.n_head));
  launch(stream, merge_segments, {.grid = grid, .block = dim3(kThreads)}, params);
}

void run_merge_and_join(Stream& stream, const Params& main, const Params& exact, KvTransform of_values,
                        float* out) {
  const dim3 grid(static_cast<unsigned>(main.n_tokens), static_cast<unsigned>(main.n_head));
  launch(stream, merge_and_join, {.grid = grid, .block = dim3(kThreads)}, main, exact, of_values, out);
}

}  // namespace parlance::cuda::attention
