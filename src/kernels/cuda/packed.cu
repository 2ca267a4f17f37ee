// Operations on packed rows on CUDA, for every format: a block for each query, a warp for each encoded row.
// What counts is that they are right; models use attention over pages.
#include <cfloat>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/sketches.h"
#include "quant/sketch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;

// Rows of one format, and how they are read.
struct Rows {
  const std::byte* bytes;
  int64_t row_bytes;
  KvFormat format;
  KvTransform transform;
  const float* sketch;  // the transform's matrix, or null
  int head_dim, n_stored;

  __device__ const std::byte* row(int64_t i) const { return bytes + i * row_bytes; }
  // By one warp. x [n_stored] becomes the head vector, in `x` or in `other`, which has as much room.
  __device__ const float* to_head(float* x, float* other, int lane) const {
    if (sketch) {
      read_sketch_by_warp(sketch, x, other, head_dim, lane);
      return other;
    }
    from_stored_by_warp(transform, x, head_dim, lane);
    return x;
  }
};

Rows rows_of(Stream& stream, const PackedRows& rows) {
  const KvTransform transform = traits(rows.format).transform;
  return {rows.bytes.as<const std::byte>(),
          static_cast<int64_t>(rows.bytes.row_size()),
          rows.format,
          transform,
          sketch_of(stream, transform),
          static_cast<int>(rows.head_dim),
          static_cast<int>(stored_elements(transform, rows.head_dim))};
}

struct Queries {
  const float* q;
  int64_t n_batch;
  int n, n_head, n_head_kv;
  int n_rows;  // that a KV head of a sequence has
  bool is_stored, is_rounded;
  float factor;

  // Where the query's rows begin.
  __device__ int64_t first_row(int64_t query) const {
    const int64_t head_kv = query % n_head / (n_head / n_head_kv), sequence = query / (n_head * n_batch);
    return (sequence * n_head_kv + head_kv) * n_rows;
  }
};

Queries queries_of(const PackedQuery& query, const PackedRows& k) {
  return {query.q.as<const float>(),
          query.q.ne[2],
          static_cast<int>(query.q.ne[0]),
          static_cast<int>(query.q.ne[1]),
          static_cast<int>(k.bytes.ne[2]),
          static_cast<int>(k.bytes.ne[1]),
          query.is_stored,
          query.is_rounded,
          query.factor};
}

// stored [n_stored] = the query in the terms of stored values, by the first warp. `other` has as much room.
__device__ void prepare(const Queries& queries, const Rows& k, int64_t query, float* stored, float* other) {
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    const float* const q = queries.q + query * queries.n;
    float* const copy = !queries.is_stored && k.sketch ? other : stored;
    for (int i = lane; i < queries.n; i += 32) copy[i] = q[i];
    __syncwarp();
    if (!queries.is_stored && k.sketch) {
      sketch_by_warp(k.sketch, copy, stored, k.head_dim, lane);
    } else if (!queries.is_stored) {
      to_stored_by_warp(k.transform, stored, k.head_dim, lane);
    }
    for (int first = 0; queries.is_rounded && first < k.n_stored; first += kSketchOut) {
      float largest = 0;
      for (int i = lane; i < kSketchOut; i += 32) largest = max_or_nan(largest, fabsf(stored[first + i]));
      largest = max_or_nan_of_warp(largest);
      const float scale = largest == 0 ? 1 : __fdiv_rn(largest, 127), inverse = __fdiv_rn(1, scale);
      for (int i = lane; i < kSketchOut; i += 32) {
        const float code = rintf(__fmul_rn(stored[first + i], inverse));
        stored[first + i] = scale * fminf(fmaxf(code, -127), 127);
      }
    }
  }
  __syncthreads();
}

// Of one warp, with `values` [n_stored] of its own.
__device__ float score(const Rows& k, const std::byte* row, const float* query, float* values, int lane) {
  read_row(k.format, row, k.n_stored, lane, values);
  __syncwarp();
  float sum = 0;
  for (int i = lane; i < k.n_stored; i += 32) sum = fmaf(query[i], values[i], sum);
  sum = sum_of_warp(sum);
  __syncwarp();
  return sum;
}

__global__ void __launch_bounds__(kThreads) score_rows(const Queries queries, const Rows k, float* out) {
  extern __shared__ float shared[];
  let_next_start();
  wait_for_previous();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* const query = shared;
  float* const values = shared + (1 + warp) * k.n_stored;
  prepare(queries, k, blockIdx.x, query, shared + k.n_stored);
  const int64_t first = queries.first_row(blockIdx.x);
  for (int row = warp; row < queries.n_rows; row += kWarps) {
    const float sum = score(k, k.row(first + row), query, values, lane);
    if (lane == 0) out[blockIdx.x * static_cast<int64_t>(queries.n_rows) + row] = sum * queries.factor;
  }
}

// Visible rows of query i of the batch.
struct Mask {
  bool is_causal;
  int64_t q_pos_base;

  __device__ int visible(const Queries& queries, int64_t query) const {
    if (!is_causal) return queries.n_rows;
    const int64_t last = q_pos_base + query / queries.n_head % queries.n_batch + 1;
    return static_cast<int>(min(max(last, int64_t{0}), static_cast<int64_t>(queries.n_rows)));
  }
};

// Each warp sums up values of its own; `weights` [n_rows] of each query lie in scratch memory.
__global__ void __launch_bounds__(kThreads) attend(const Queries queries, const Rows k, const Rows v,
                                                   const Mask mask, float scale, float* weights, float* out) {
  extern __shared__ float shared[];
  __shared__ float largest_of[kWarps], sum_of[kWarps];
  let_next_start();
  wait_for_previous();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int n_row = max(k.n_stored, v.n_stored);
  float* const query = shared;                            // and later the result
  float* const values = shared + (1 + warp) * n_row;      // of a warp
  float* const all_sums = shared + (1 + kWarps) * n_row;  // (v.n_stored, kWarps)
  float* const sums = all_sums + warp * n_row;
  weights += blockIdx.x * static_cast<int64_t>(queries.n_rows);
  out += blockIdx.x * static_cast<int64_t>(v.head_dim);
  prepare(queries, k, blockIdx.x, query, shared + n_row);
  const int64_t first = queries.first_row(blockIdx.x);
  const int n_visible = mask.visible(queries, blockIdx.x);

  float largest = -INFINITY;
  for (int row = warp; row < n_visible; row += kWarps) {
    const float sum = score(k, k.row(first + row), query, values, lane) * queries.factor * scale;
    if (lane == 0) weights[row] = sum;
    largest = fmaxf(largest, sum);
  }
  if (lane == 0) largest_of[warp] = largest;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) largest = fmaxf(largest, largest_of[i]);
  if (!isfinite(largest)) {
    for (int i = threadIdx.x; i < v.head_dim; i += kThreads) out[i] = 0;
    return;
  }

  for (int i = lane; i < v.n_stored; i += 32) sums[i] = 0;
  float sum = 0;
  for (int row = warp; row < n_visible; row += kWarps) {
    const float weight = expf(weights[row] - largest);
    sum += weight;
    read_row(v.format, v.row(first + row), v.n_stored, lane, values);
    for (int i = lane; i < v.n_stored; i += 32) sums[i] = fmaf(weight, values[i], sums[i]);  // its own values
  }
  if (lane == 0) sum_of[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  float total = 0;
  for (int i = 0; i < kWarps; ++i) total += sum_of[i];
  for (int i = lane; i < v.n_stored; i += 32) {
    float value = 0;
    for (int j = 0; j < kWarps; ++j) value += all_sums[j * n_row + i];
    query[i] = value / total;
  }
  __syncwarp();
  const float* const head = v.to_head(query, values, lane);
  for (int i = lane; i < v.head_dim; i += 32) out[i] = head[i];
}

__global__ void __launch_bounds__(32) decode_rows(const Rows table, const int32_t* rows, float* out) {
  extern __shared__ float shared[];
  let_next_start();
  wait_for_previous();
  const int lane = threadIdx.x;
  read_row(table.format, table.row(rows[blockIdx.x]), table.n_stored, lane, shared);
  __syncwarp();
  const float* const head = table.to_head(shared, shared + table.n_stored, lane);
  for (int i = lane; i < table.head_dim; i += 32)
    out[blockIdx.x * static_cast<int64_t>(table.head_dim) + i] = head[i];
}

void run_get_rows(Stream& stream, const PackedGetRowsArgs& args) {
  const int64_t n = args.rows.n_elements();
  if (n == 0) return;
  const Rows table = rows_of(stream, args.table);
  launch(stream, decode_rows,
         {.grid = dim3(static_cast<unsigned>(n)),
          .block = dim3(32),
          .shared_bytes = 2 * static_cast<size_t>(table.n_stored) * sizeof(float)},
         table, args.rows.as<const int32_t>(), args.out.as<float>());
}

void run_scores(Stream& stream, const PackedScoresArgs& args) {
  const int64_t n_queries = args.query.q.n_rows();
  if (n_queries == 0) return;
  const Rows k = rows_of(stream, args.k);
  launch(stream, score_rows,
         {.grid = dim3(static_cast<unsigned>(n_queries)),
          .block = dim3(kThreads),
          .shared_bytes = (1 + kWarps) * static_cast<size_t>(k.n_stored) * sizeof(float)},
         queries_of(args.query, args.k), k, args.out.as<float>());
}

size_t attention_scratch(const PackedAttentionArgs& args, int) {
  return static_cast<size_t>(args.query.q.n_rows() * args.k.bytes.ne[1]) * sizeof(float);
}

void run_attention(Stream& stream, const PackedAttentionArgs& args) {
  const int64_t n_queries = args.query.q.n_rows();
  if (n_queries == 0) return;
  const Rows k = rows_of(stream, args.k), v = rows_of(stream, args.v);
  const auto n_row = static_cast<size_t>(std::max(k.n_stored, v.n_stored));
  launch(stream, attend,
         {.grid = dim3(static_cast<unsigned>(n_queries)),
          .block = dim3(kThreads),
          .shared_bytes = (1 + 2 * kWarps) * n_row * sizeof(float)},
         queries_of(args.query, args.k), k, v, Mask{args.is_causal, args.q_pos_base}, args.scale,
         reinterpret_cast<float*>(scratch_of(stream)), args.out.as<float>());
}

}  // namespace

void fill_packed(OpTable& table) {
  table.packed_get_rows = {run_get_rows};
  table.packed_scores = {run_scores};
  table.packed_attention = {run_attention, attention_scratch};
}

}  // namespace parlance::cuda
