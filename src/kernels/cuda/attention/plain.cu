// attention for every pair of formats and every head size, in f32: a tile of rows (heads of a group, of
// consecutive tokens) walks over its keys block by block with a running softmax.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kRows = kPlainRows;
constexpr int kKeys = 32;  // of a block: a lane each in the softmax
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kRowsPerWarp = kRows / kWarps;

// Keys, later values, of a block lie in rows of odd length: lanes that read one element of 32 rows meet no
// bank twice.
__host__ __device__ int block_stride(const Params& p) {
  return max(p.head_dim_k, p.head_dim_v) | 1;
}

__device__ int first_visible_key(const Params& p, int token) {
  return p.first ? keys_before(p, p.seq[token], p.first[token]) : 0;
}

size_t shared_bytes_of(const Params& p) {
  const int floats = kRows * (p.head_dim_k + p.head_dim_v) + kKeys * block_stride(p);
  return static_cast<size_t>(floats) * sizeof(float);
}

__global__ void __launch_bounds__(kThreads) plain(const __grid_constant__ Params p) {
  extern __shared__ float dynamic[];
  __shared__ __align__(16) float weights[kKeys][kRows];  // scores, then their exponentials
  __shared__ float largest[kRows], sum[kRows], keep[kRows];
  __shared__ float largest_so_far[kRows], sum_so_far[kRows];
  __shared__ int first_visible[kRows], visible[kRows];  // a row sees keys from one to before the other
  let_next_start();
  wait_for_previous();

  float* const q = dynamic;                         // (head_dim_k, kRows)
  float* const out = q + kRows * p.head_dim_k;      // (head_dim_v, kRows)
  float* const block = out + kRows * p.head_dim_v;  // (stride, kKeys)
  const int stride = block_stride(p);
  const int thread = threadIdx.x;
  const int lane = thread % 32, warp = thread / 32;
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int first_head = blockIdx.y % p.tiling.parts * p.tiling.heads;  // in the group
  const int n_heads = min(p.tiling.heads, p.group - first_head);
  const BlockPlace place(p);
  const int end = min(p.n_tokens, (place.tile + 1) * p.tiling.tokens);

  for (int start = place.tile * p.tiling.tokens; start < end;) {
    const TokenRun run(p, start, end);
    start = run.last;
    const int n_segments = run.n_segments();
    const SegmentRange range(p, run, place.split);
    if (!run.is_served || range.first >= range.last) continue;
    const bool is_shared = is_split(p, run);
    const Walk walk(p, p.seq[run.first], head_kv);
    const int n_rows = (run.last - run.first) * n_heads;
    const auto token_of = [&](int row) { return run.first + row / n_heads; };
    const auto head_of = [&](int row) { return head_kv * p.group + first_head + row % n_heads; };

    for (int i = thread; i < kRows * p.head_dim_k; i += kThreads) {
      const int row = i / p.head_dim_k;
      const auto index = static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row);
      q[i] = row < n_rows ? p.q[index * p.head_dim_k + i % p.head_dim_k] * p.scale : 0.0f;
    }
    if (thread < kRows) {
      largest_so_far[thread] = kLowest;
      sum_so_far[thread] = 0;
      visible[thread] = thread < n_rows ? visible_keys(p, token_of(thread)) : 0;
      first_visible[thread] = thread < n_rows ? first_visible_key(p, token_of(thread)) : 0;
    }

    int first_key = first_visible_key(p, run.first);  // that any row sees
    for (int token = run.first + 1; p.first && token < run.last; ++token)
      first_key = min(first_key, first_visible_key(p, token));

    for (int segment = range.first; segment < range.last; ++segment) {
      for (int i = thread; i < kRows * p.head_dim_v; i += kThreads) out[i] = 0;
      if (thread < kRows) {
        largest[thread] = kLowest;
        sum[thread] = 0;
      }
      __syncthreads();

      const int segment_first = segment * run.segment_keys;
      const int segment_last = min(run.n_keys, segment_first + run.segment_keys);
      // In whole blocks from the segment's first key on, so that sums do not tell which rows share the tile.
      const int n_left_out = max(first_key - segment_first, 0) / kKeys * kKeys;
      for (int first = segment_first + n_left_out; first < segment_last; first += kKeys) {
        const int n_keys = min(kKeys, segment_last - first);
        for (int key = warp; key < kKeys; key += kWarps) {
          const std::byte* row = walk.k_row(p, first + min(key, n_keys - 1));
          read_row(p.k_format, row, p.head_dim_k, lane, block + key * stride);
        }
        __syncthreads();

        // A lane is a key; the rows of a warp share what it reads of the block.
        float scores[kRowsPerWarp] = {};
        for (int i = 0; i < p.head_dim_k; ++i) {
          const float k = block[lane * stride + i];
          for (int j = 0; j < kRowsPerWarp; ++j)
            scores[j] += q[(warp * kRowsPerWarp + j) * p.head_dim_k + i] * k;
        }
        for (int j = 0; j < kRowsPerWarp; ++j) {
          const int row = warp * kRowsPerWarp + j;
          const int key = first + lane;
          const bool is_seen = lane < n_keys && key >= first_visible[row] && key < visible[row];
          const float score = is_seen ? scores[j] : -INFINITY;
          const float before = largest[row];
          const float after = fmaxf(before, max_of_warp(score));
          const float weight = exp2f(score - after);
          const float total = sum_of_warp(weight);
          weights[lane][row] = weight;
          __syncwarp();
          if (lane == 0) {
            keep[row] = exp2f(before - after);
            sum[row] = sum[row] * keep[row] + total;
            largest[row] = after;
          }
        }
        __syncthreads();

        for (int key = warp; key < kKeys; key += kWarps) {
          const std::byte* row = walk.v_row(p, first + min(key, n_keys - 1));
          read_row(p.v_format, row, p.head_dim_v, lane, block + key * stride);
        }
        __syncthreads();

        for (int i = thread; i < p.head_dim_v; i += kThreads) {
          float more[kRows] = {};
          for (int key = 0; key < n_keys; ++key) {
            const float v = block[key * stride + i];
            for (int row = 0; row < kRows; ++row) more[row] += weights[key][row] * v;
          }
          for (int row = 0; row < kRows; ++row)
            out[row * p.head_dim_v + i] = out[row * p.head_dim_v + i] * keep[row] + more[row];
        }
        __syncthreads();
      }

      if (is_shared) {
        for (int i = thread; i < n_rows * p.head_dim_v; i += kThreads) {
          const int row = i / p.head_dim_v;
          const int64_t index = partial_row(p, token_of(row), head_of(row), segment);
          p.partials.out[index * p.head_dim_v + i % p.head_dim_v] = out[i];
          if (i % p.head_dim_v == 0) p.partials.stats[index] = make_float2(largest[row], sum[row]);
        }
        __syncthreads();
        continue;
      }
      // What there is so far waits where the result goes.
      const bool is_first = segment == 0, is_last = segment + 1 == n_segments;
      for (int i = thread; i < n_rows * p.head_dim_v; i += kThreads) {
        const int row = i / p.head_dim_v;
        const Fold fold(largest_so_far[row], largest[row]);
        const int64_t index = static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row);
        float& result = p.out[index * p.head_dim_v + i % p.head_dim_v];
        const float value = fold(is_first ? 0.0f : result, out[i]), weights = fold(sum_so_far[row], sum[row]);
        result = is_last && !p.stats ? finish(value, weights) : value;
        if (is_last && p.stats && i % p.head_dim_v == 0) p.stats[index] = make_float2(fold.largest, weights);
      }
      __syncthreads();
      if (thread < kRows) {
        const Fold fold(largest_so_far[thread], largest[thread]);
        largest_so_far[thread] = fold.largest;
        sum_so_far[thread] = fold(sum_so_far[thread], sum[thread]);
      }
      __syncthreads();
    }
  }
}

}  // namespace

void run_plain(Stream& stream, const Params& params, const AttentionArgs& args) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts));
  const Shape shape{.grid = grid, .block = dim3(kThreads), .shared_bytes = shared_bytes_of(params)};
  launch(stream, plain, shape, params);
}

}  // namespace parlance::cuda::attention
