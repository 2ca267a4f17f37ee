// Puts the segments together that blocks have left, a warp for each head of each token; and what two kinds of
// pages have yielded, one block for each.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kThreads = 128;
// Segments whose values a thread has on their way in registers, where it has several of each: as many as a
// row of eight KV heads has on a large GPU, so that memory is waited for once.
constexpr int kAtOnce = 34;
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

// A segment's sum of weights, what so far and it are multiplied with.
struct alignas(16) SegmentFactors {
  float weights, keep, add;
};

// What one thread of a row has of its segments, on the way to shared memory, a value of each. With so few
// values, code for each of them would take longer to come than to run.
template <int kRoomThreads>
struct SegmentValues {
  float of[kMostDecodeSegments][kRoomThreads];

  // Of n segments, from that of the first one on.
  __device__ void load(const float* first, int stride, int n, int thread) {
#pragma unroll 4
    for (int at = 0; at < n; ++at, first += stride) copy_value(&of[at][thread], first);
    end_copy_group();
  }
  // The sums of all segments, whose factors are there for all who ask.
  __device__ float2 sum(const SegmentFactors* segments, int n, int thread) const {
    wait_for_copies<0>();
    float value = 0, weights = 0;
#pragma unroll 8
    for (int at = 0; at < n; ++at) {
      const SegmentFactors segment = segments[at];
      value = fmaf(of[at][thread], segment.add, __fmul_rn(value, segment.keep));
      weights = fmaf(segment.weights, segment.add, __fmul_rn(weights, segment.keep));
    }
    return make_float2(value, weights);
  }

 private:
  __device__ static void copy_value(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
  }
};

// The segments of a row that blocks have left, put together by a block, a value by each thread.
struct SegmentSums {
  SegmentFactors segments[kMostDecodeSegments];
  SegmentValues<kThreads> values;
  float largest_of_warps[kThreads / 32];

  // By the whole block: what becomes of each segment's sums; returns the largest score. n is above 0.
  __device__ float start(const Params& p, int64_t first, int n) {
    const int thread = threadIdx.x;
    const float2 stats = thread < n ? p.partials.stats[first + thread] : make_float2(kLowest, 0);
    const float before = largest_before(stats.x, largest_of_warps);
    const Fold fold(before, stats.x);
    if (thread < n) segments[thread] = {stats.y, fold.keep, fold.add};
    __syncthreads();
    float largest = kLowest;
    for (int i = 0; i < kThreads / 32; ++i) largest = fmaxf(largest, largest_of_warps[i]);
    return largest;
  }
};

// What the segments of a row, which a warp puts together, are multiplied with.
struct SegmentWeights {
  SegmentFactors segments[kMostDecodeSegments];

  // By the whole warp; returns the largest score. n is above 0.
  __device__ float start(const Params& p, int64_t first, int n) {
    constexpr int kTurns = kMostDecodeSegments / 32;
    const int lane = threadIdx.x;
    float2 stats[kTurns];
#pragma unroll
    for (int i = 0; i < kTurns; ++i)
      stats[i] = lane + 32 * i < n ? p.partials.stats[first + lane + 32 * i] : make_float2(kLowest, 0);
    float largest = kLowest;  // of the turns before
    __syncwarp();             // nobody reads those of the row before any more
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      float up_to = stats[i].x;
      for (int stride = 1; stride < 32; stride *= 2) {
        const float other = __shfl_up_sync(kAllLanes, up_to, stride);
        if (lane >= stride) up_to = fmaxf(up_to, other);
      }
      float before = __shfl_up_sync(kAllLanes, up_to, 1);
      before = lane == 0 ? largest : fmaxf(before, largest);
      const Fold fold(before, stats[i].x);
      if (lane + 32 * i < n) segments[lane + 32 * i] = {stats[i].y, fold.keep, fold.add};
      largest = fmaxf(largest, __shfl_sync(kAllLanes, up_to, 31));
    }
    __syncwarp();
    return largest;
  }

  // Of kValues neighbours of a row, of which `values` has those of the first segments. Returns the sum of
  // weights.
  template <class Values, int kValues>
  __device__ float add(Values& values, int n, float (&total)[kValues]) const {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kValues; ++j) total[j] = 0;
    for (int from = 0; from < n; from += kAtOnce) {
      if (from > 0) values.load(from);
#pragma unroll
      for (int at = 0; at < kAtOnce; ++at) {
        if (from + at >= n) break;
        const SegmentFactors segment = segments[from + at];
#pragma unroll
        for (int j = 0; j < kValues; ++j)
          total[j] = fmaf(values.of[at].values[j], segment.add, __fmul_rn(total[j], segment.keep));
        sum = fmaf(segment.weights, segment.add, __fmul_rn(sum, segment.keep));
      }
    }
    return sum;
  }
};

// Of kValues neighbours of a row, those that kAtOnce segments have.
template <int kValues>
struct ValuesOfSegments {
  struct alignas(kValues * sizeof(float)) Values {
    float values[kValues];
  };
  const float* parts;  // those of the first segment, `stride` values before those of the next one
  int stride, n;
  Values of[kAtOnce];

  __device__ ValuesOfSegments(const float* parts, int stride, int n) : parts(parts), stride(stride), n(n) {}
  __device__ void load(int from) {
#pragma unroll
    for (int at = 0; at < kAtOnce; ++at) {
      if (from + at < n) of[at] = *reinterpret_cast<const Values*>(parts + (from + at) * stride);
    }
  }
};

// What a warp needs to put segments together, kValues values a lane.
template <int kValues>
struct WarpRoom {
  SegmentWeights weights;
  SegmentValues<kValues == 1 ? 32 : 1> values;
};

// 32 times kValues values of a head, from `i` on of this lane. What waits for memory waits once.
template <int kValues>
__device__ void merge_values(const Params& p, WarpRoom<kValues>& room, int token, int head, int i, int n) {
  const int64_t first = partial_row(p, token, head, 0), row = static_cast<int64_t>(token) * p.n_head + head;
  const float* const parts = p.partials.out + first * p.head_dim_v + i;
  float largest, sum, total[kValues];
  if constexpr (kValues == 1) {
    const int lane = threadIdx.x;
    if (i < p.head_dim_v) room.values.load(parts, p.head_dim_v, n, lane);
    largest = room.weights.start(p, first, n);
    if (i >= p.head_dim_v) return;
    const float2 sums = room.values.sum(room.weights.segments, n, lane);
    total[0] = sums.x, sum = sums.y;
  } else {
    ValuesOfSegments<kValues> values{parts, p.head_dim_v, n};
    if (i < p.head_dim_v) values.load(0);
    largest = room.weights.start(p, first, n);
    if (i >= p.head_dim_v) return;
    sum = room.weights.add(values, n, total);
  }
#pragma unroll
  for (int j = 0; j < kValues; ++j)
    p.out[row * p.head_dim_v + i + j] = p.stats ? total[j] : finish(total[j], sum);
  if (p.stats && i == 0) p.stats[row] = make_float2(largest, sum);
}

// Values of a head that a warp takes at once.
__host__ __device__ inline int merged_at_once(int values_of_lane) {
  return 32 * values_of_lane;
}

// Block (token, some heads), of 32 lanes by warps, which take turns at the heads' values.
template <int kValues>
__global__ void __launch_bounds__(kThreads) merge_segments(const __grid_constant__ Params p) {
  __shared__ WarpRoom<kValues> rooms[kThreads / 32];
  let_next_start();
  const int token = blockIdx.x, warp = threadIdx.y, n_warps = kThreads / 32;
  const TokenRun run(p, token, token + 1);  // sequences and positions are not what kernels write
  wait_for_previous();
  if (!run.is_served || !is_split(p, run) || run.n_segments() == 0) return;
  const int of_head = (p.head_dim_v + merged_at_once(kValues) - 1) / merged_at_once(kValues);
  for (int turn = blockIdx.y * n_warps + warp; turn < p.n_head * of_head; turn += gridDim.y * n_warps) {
    const int i = turn % of_head * merged_at_once(kValues) + static_cast<int>(threadIdx.x) * kValues;
    merge_values<kValues>(p, rooms[warp], token, turn / of_head, i, run.n_segments());
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
  if (i < p.head_dim_v) segments.values.load(p.partials.out + first * p.head_dim_v + i, p.head_dim_v, n, i);
  sums.largest = segments.start(p, first, n);
  const float2 all = segments.values.sum(segments.segments, n, i);
  return {sums.largest, all.y, all.x};
}

// Butterflies of from_stored() by the block, a value a thread.
__device__ float hadamard_by_block(float value, int block, float (&x)[kThreads]) {
  const int i = threadIdx.x;
  for (int len = 1; len < min(block, 32); len *= 2) {
    const float other = __shfl_xor_sync(kAllLanes, value, len);
    value = i & len ? __fsub_rn(other, value) : __fadd_rn(value, other);
  }
  for (int len = 32; len < block; len *= 2) {
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
  __shared__ SegmentSums segments;
  __shared__ float x[kThreads];
  let_next_start();
  const int token = blockIdx.x, head = blockIdx.y, i = threadIdx.x, n = main.head_dim_v;
  const bool has_exact = exact.page_table;
  const TokenRun run_of_main(main, token, token + 1);
  const TokenRun run_of_exact(has_exact ? exact : main, token, token + 1);
  wait_for_previous();
  RowSums of_main = sums_of(main, segments, run_of_main, token, head);
  if (run_of_main.n_segments() > 0) of_main.value = from_stored_by_block(of_values, of_main.value, n, x);
  RowSums of_exact{kLowest, 0, 0};
  if (has_exact) {
    __syncthreads();
    of_exact = sums_of(exact, segments, run_of_exact, token, head);
  }
  const Fold fold(of_main.largest, of_exact.largest);
  if (i >= n) return;
  out[(static_cast<int64_t>(token) * main.n_head + head) * n + i] =
      finish(fold(of_main.value, of_exact.value), fold(of_main.weights, of_exact.weights));
}

}  // namespace

void run_merge(Stream& stream, const Params& params) {
  // So many blocks that the GPU is busy: each finds out anew which rows there are.
  constexpr int kBlocks = 2048, kManyTokens = 8;
  const int n_tokens = std::min(params.n_tokens, params.n_split_tokens);
  const bool is_wide = n_tokens >= kManyTokens && params.head_dim_v % 4 == 0;
  const int at_once = merged_at_once(is_wide ? 4 : 1), n_warps = kThreads / 32;
  const int n_turns = params.n_head * ((params.head_dim_v + at_once - 1) / at_once);
  const int n_shares = std::clamp(kBlocks / n_tokens, 1, (n_turns + n_warps - 1) / n_warps);
  launch(stream, is_wide ? merge_segments<4> : merge_segments<1>,
         {.grid = dim3(static_cast<unsigned>(n_tokens), static_cast<unsigned>(n_shares)),
          .block = dim3(32, static_cast<unsigned>(n_warps))},
         params);
}

void run_merge_and_join(Stream& stream, const Params& main, const Params& exact, KvTransform of_values,
                        float* out) {
  const dim3 grid(static_cast<unsigned>(main.n_tokens), static_cast<unsigned>(main.n_head));
  launch(stream, merge_and_join, {.grid = grid, .block = dim3(kThreads)}, main, exact, of_values, out);
}

}  // namespace parlance::cuda::attention
