// What stands before and behind attention over compressed keys and values: queries as they meet stored keys,
// and head vectors of what main and exact pages have yielded. A warp for each head of each token.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kWarps = 4;

unsigned blocks_of(int64_t n_rows) {
  return static_cast<unsigned>((n_rows + kWarps - 1) / kWarps);
}

__global__ void __launch_bounds__(32 * kWarps)
    transform_queries(KvTransform transform, const float* q, float* out, int head_dim, int64_t n_rows) {
  extern __shared__ float vectors[];
  let_next_start();
  wait_for_previous();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  if (row >= n_rows) return;
  float* const x = vectors + warp * head_dim;
  for (int i = lane; i < head_dim; i += 32) x[i] = q[row * head_dim + i];
  __syncwarp();
  to_stored_by_warp(transform, x, head_dim, lane);
  for (int i = lane; i < head_dim; i += 32) out[row * head_dim + i] = x[i];
}

// Blocks take turns at rows: a value a thread, which sums up in the scalar definition's order. Its column of
// the matrix, which no kernel writes, is there before the queries are, and is loaded once for all of a
// block's rows.
__global__ void __launch_bounds__(kSketchOut)
    sketch_queries(const float* matrix, const float* q, float* out, int head_dim, int64_t n_rows) {
  extern __shared__ float x[];
  let_next_start();
  float column[kSketchIn];
#pragma unroll
  for (int i = 0; i < kSketchIn; ++i) column[i] = matrix[i * kSketchOut + static_cast<int>(threadIdx.x)];
  wait_for_previous();
  const int thread = threadIdx.x;
  for (int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
    for (int i = thread; i < head_dim; i += kSketchOut) x[i] = q[row * head_dim + i];
    __syncthreads();
    for (int first = 0; first < head_dim; first += kSketchIn) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kSketchIn; ++i) sum = __fadd_rn(sum, __fmul_rn(x[first + i], column[i]));
      out[2 * (row * head_dim + first) + thread] = sum;
    }
    __syncthreads();  // before the next row takes this one's place
  }
}

// `p`: of main pages, but for what is finished.
__global__ void __launch_bounds__(32 * kWarps)
    join(const __grid_constant__ Params p, Sums main, QueryTransform of_values, Sums exact, int n_stored) {
  extern __shared__ float vectors[];
  let_next_start();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  const auto token = static_cast<int>(row / p.n_head);
  wait_for_previous();
  if (token >= p.n_tokens) return;
  const int n = p.head_dim_v, n_seen = p.pos[token] + 1, n_main = visible_keys(p, token);
  float2 of_main = make_float2(kLowest, 0), of_exact = of_main;
  float* const stored = vectors + warp * (n_stored + (n_stored == n ? 0 : n));
  float* x = stored;
  if (n_main > 0) {
    of_main = main.stats[row];
    for (int i = lane; i < n_stored; i += 32) stored[i] = main.values[row * n_stored + i];
    __syncwarp();
    if (is_sketch(of_values.transform)) {
      x = stored + n_stored;
      read_sketch_by_warp(of_values.sketch, stored, x, n, lane);
    } else {
      from_stored_by_warp(of_values.transform, stored, n, lane);
    }
  }
  const bool has_exact = n_main < n_seen;
  if (has_exact) of_exact = exact.stats[row];
  const Fold fold(of_main.x, of_exact.x);
  const float weights = fold(of_main.y, of_exact.y);
  for (int i = lane; i < n; i += 32) {
    const float value = fold(n_main > 0 ? x[i] : 0.0f, has_exact ? exact.values[row * n + i] : 0.0f);
    p.out[row * n + i] = finish(value, weights);
  }
}

}  // namespace

void run_transform_queries(Stream& stream, const QueryTransform& transform, const float* q, float* out,
                           int head_dim, int64_t n_rows) {
  if (is_sketch(transform.transform)) {
    const int64_t most_blocks = gpu_of(stream).n_multiprocessors;  // whose registers one column each fills
    launch(stream, sketch_queries,
           {.grid = dim3(static_cast<unsigned>(std::min(n_rows, most_blocks))),
            .block = dim3(kSketchOut),
            .shared_bytes = static_cast<size_t>(head_dim) * sizeof(float)},
           transform.sketch, q, out, head_dim, n_rows);
    return;
  }
  launch(stream, transform_queries,
         {.grid = dim3(blocks_of(n_rows)),
          .block = dim3(32 * kWarps),
          .shared_bytes = static_cast<size_t>(kWarps * head_dim) * sizeof(float)},
         transform.transform, q, out, head_dim, n_rows);
}

void run_join(Stream& stream, const Params& params, const Sums& main, const QueryTransform& of_values,
              const Sums& exact) {
  const int n = params.head_dim_v, n_stored = is_sketch(of_values.transform) ? 2 * n : n;
  const int of_warp = n_stored + (n_stored == n ? 0 : n);
  const int64_t n_rows = static_cast<int64_t>(params.n_tokens) * params.n_head;
  launch(stream, join,
         {.grid = dim3(blocks_of(n_rows)),
          .block = dim3(32 * kWarps),
          .shared_bytes = static_cast<size_t>(kWarps * of_warp) * sizeof(float)},
         params, main, of_values, exact, n_stored);
}

}  // namespace parlance::cuda::attention
