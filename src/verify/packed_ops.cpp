// Operations on packed rows on the CPU: the definition, and the same in blocks of rows for instruction sets.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"
#include "quant/sketch_int8.h"
#include "verify/packed/kernels.h"
#include "verify/packed_rows.h"

namespace parlance::verify {

namespace {

using packed::Kernels;

KvTransform transform_of(const PackedRows& rows) {
  return traits(rows.format).transform;
}

int64_t stored_elements_of(const PackedRows& rows) {
  return stored_elements(transform_of(rows), rows.head_dim);
}

// Where one query head of one token stands among all of them.
struct QueryPlace {
  int64_t row;    // of q and of out
  int64_t index;  // in the batch
  const PackedQuery& query;

  QueryPlace(const PackedQuery& query, int64_t task)
      : row(task), index(task / query.q.ne[1] % query.q.ne[2]), query(query) {}

  // The first of the rows that it reads; they follow each other.
  const std::byte* rows_of(const PackedRows& packed) const {
    const int64_t n_head = query.q.ne[1], n_head_kv = packed.bytes.ne[2];
    const int64_t head_kv = row % n_head / (n_head / n_head_kv);
    const int64_t sequence = row / (n_head * query.q.ne[2]);
    return packed.bytes.row((sequence * n_head_kv + head_kv) * packed.bytes.ne[1]);
  }
};

// stored = the query in the terms of stored values.
void prepare(const QueryPlace& place, const PackedRows& k, TransformRow* to_stored, float* stored) {
  const PackedQuery& query = place.query;
  const float* q = query.q.as<const float>() + place.row * query.q.ne[0];
  const int64_t n = stored_elements_of(k);
  if (query.is_stored) {
    std::copy_n(q, n, stored);
  } else {
    to_stored(transform_of(k), q, stored, k.head_dim);
  }
  if (!query.is_rounded) return;
  assert(n % kSketchOutputs == 0);
  for (int64_t first = 0; first < n; first += kSketchOutputs) {
    const SketchInt8 rounded = round_sketch(stored + first);
    for (size_t j = 0; j < rounded.codes.size(); ++j) {
      stored[static_cast<size_t>(first) + j] = rounded.scale * static_cast<float>(rounded.codes[j]);
    }
  }
}

// How many rows a query sees.
int64_t visible_rows(const PackedAttentionArgs& args, const QueryPlace& place) {
  const int64_t n_rows = args.k.bytes.ne[1];
  return args.is_causal ? std::clamp<int64_t>(args.q_pos_base + place.index + 1, 0, n_rows) : n_rows;
}

// ---- The definition ----

float score(const float* stored_query, const std::byte* row, const PackedRows& k, float factor,
            float* stored) {
  traits(k.format).decode_stored_row(row, stored, k.head_dim);
  double sum = 0;
  for (int64_t i = 0; i < stored_elements_of(k); ++i) {
    sum += static_cast<double>(stored_query[i]) * static_cast<double>(stored[i]);
  }
  return static_cast<float>(sum) * factor;
}

size_t scratch_of_scalar_scores(const PackedScoresArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * 2 * stored_elements_of(args.k)) * sizeof(float);
}

void scalar_scores(const PackedScoresArgs& args, int64_t task, float* scratch) {
  const QueryPlace place(args.query, task);
  const int64_t n_rows = args.k.bytes.ne[1];
  const std::byte* rows = place.rows_of(args.k);
  float *query = scratch, *stored = query + stored_elements_of(args.k);
  prepare(place, args.k, to_stored, query);
  for (int64_t j = 0; j < n_rows; ++j) {
    const std::byte* row = rows + static_cast<size_t>(j) * args.k.bytes.row_size();
    args.out.as<float>()[place.row * n_rows + j] = score(query, row, args.k, args.query.factor, stored);
  }
}

size_t scratch_of_scalar_attention(const PackedAttentionArgs& args, int n_threads) {
  const int64_t n = 2 * stored_elements_of(args.k) + 2 * stored_elements_of(args.v) + args.k.bytes.ne[1];
  return static_cast<size_t>(n_threads * n) * sizeof(float);
}

void scalar_attention(const PackedAttentionArgs& args, int64_t task, float* scratch) {
  const QueryPlace place(args.query, task);
  const int64_t n_visible = visible_rows(args, place), n_v = stored_elements_of(args.v);
  float *query = scratch, *key = query + stored_elements_of(args.k),
        *value = key + stored_elements_of(args.k);
  float *sums = value + n_v, *weights = sums + n_v;
  float* out = args.out.as<float>() + place.row * args.v.head_dim;
  std::fill_n(out, args.v.head_dim, 0.0f);
  if (n_visible == 0) return;

  prepare(place, args.k, to_stored, query);
  for (int64_t j = 0; j < n_visible; ++j) {
    const std::byte* row = place.rows_of(args.k) + static_cast<size_t>(j) * args.k.bytes.row_size();
    weights[j] = score(query, row, args.k, args.query.factor, key) * args.scale;
  }
  const float largest = *std::max_element(weights, weights + n_visible);
  if (!std::isfinite(largest)) return;
  double sum = 0;
  for (int64_t j = 0; j < n_visible; ++j) {
    weights[j] = std::exp(weights[j] - largest);
    sum += static_cast<double>(weights[j]);
  }
  std::fill_n(sums, n_v, 0.0f);
  for (int64_t j = 0; j < n_visible; ++j) {
    const std::byte* row = place.rows_of(args.v) + static_cast<size_t>(j) * args.v.bytes.row_size();
    traits(args.v.format).decode_stored_row(row, value, args.v.head_dim);
    for (int64_t i = 0; i < n_v; ++i) sums[i] += weights[j] * value[i];
  }
  for (int64_t i = 0; i < n_v; ++i) sums[i] /= static_cast<float>(sum);
  from_stored(transform_of(args.v), sums, out, args.v.head_dim);
}

// ---- The same in blocks of rows ----

constexpr int64_t kBlockRows = 32;

// scores [n_rows] of consecutive encoded rows.
void score_block(const Kernels& kernels, const PackedRows& k, const std::byte* rows, int64_t n_rows,
                 const float* query, float factor, float* values, float* scores) {
  const int64_t n = stored_elements_of(k);
  for (int64_t j = 0; j < n_rows; ++j) {
    kernels.decode[static_cast<size_t>(k.format)](rows + static_cast<size_t>(j) * k.bytes.row_size(), values,
                                                  n);
    scores[j] = kernels.dot(query, values, n) * factor;
  }
}

template <const Kernels& kernels>
void block_scores(const PackedScoresArgs& args, int64_t task, float* scratch) {
  const QueryPlace place(args.query, task);
  float *query = scratch, *values = query + stored_elements_of(args.k);
  prepare(place, args.k, to_stored_of(kernels.isa), query);
  score_block(kernels, args.k, place.rows_of(args.k), args.k.bytes.ne[1], query, args.query.factor, values,
              args.out.as<float>() + place.row * args.k.bytes.ne[1]);
}

size_t scratch_of_block_attention(const PackedAttentionArgs& args, int n_threads) {
  const int64_t n = 2 * stored_elements_of(args.k) + 2 * stored_elements_of(args.v) + kBlockRows;
  return static_cast<size_t>(n_threads * n) * sizeof(float);
}

// One pass over the rows, with a running softmax (Milakov and Gimelshein, 2018).
template <const Kernels& kernels>
void block_attention(const PackedAttentionArgs& args, int64_t task, float* scratch) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const QueryPlace place(args.query, task);
  const int64_t n_visible = visible_rows(args, place), n_v = stored_elements_of(args.v);
  float *query = scratch, *key = query + stored_elements_of(args.k),
        *value = key + stored_elements_of(args.k);
  float *sums = value + n_v, *weights = sums + n_v;
  float* out = args.out.as<float>() + place.row * args.v.head_dim;
  std::fill_n(out, args.v.head_dim, 0.0f);
  std::fill_n(sums, n_v, 0.0f);
  prepare(place, args.k, to_stored_of(kernels.isa), query);

  float largest = kLowest, sum = 0;
  for (int64_t first = 0; first < n_visible; first += kBlockRows) {
    const int64_t n_rows = std::min(kBlockRows, n_visible - first);
    const std::byte* keys = place.rows_of(args.k) + static_cast<size_t>(first) * args.k.bytes.row_size();
    score_block(kernels, args.k, keys, n_rows, query, args.query.factor, key, weights);
    for (int64_t j = 0; j < n_rows; ++j) weights[j] *= args.scale;
    const float before = largest;
    largest = std::max(largest, *std::max_element(weights, weights + n_rows));
    if (largest == kLowest) continue;  // rows of no weight
    float shrink = std::exp(before - largest);
    sum = sum * shrink + kernels.weigh(weights, n_rows, largest);
    const std::byte* values = place.rows_of(args.v) + static_cast<size_t>(first) * args.v.bytes.row_size();
    for (int64_t j = 0; j < n_rows; ++j) {
      kernels.decode[static_cast<size_t>(args.v.format)](
          values + static_cast<size_t>(j) * args.v.bytes.row_size(), value, n_v);
      kernels.accumulate(sums, shrink, weights[j], value, n_v);
      shrink = 1;
    }
  }
  if (!std::isfinite(largest)) return;
  kernels.accumulate(sums, 1 / sum, 0, sums, n_v);
  from_stored_of(kernels.isa)(transform_of(args.v), sums, out, args.v.head_dim);
}

// ---- Cells ----

// Runs `one` for every query row, with scratch memory of its thread.
template <class Args, void (*one)(const Args&, int64_t, float*), size_t (*scratch)(const Args&, int)>
Cell<Args> cell_of() {
  return {[](Stream& stream, const Args& args) {
            const size_t per_thread = scratch(args, 1) / sizeof(float);
            pool_of(stream).run(args.query.q.n_rows(), [&](int64_t task, int thread) {
              auto* memory = reinterpret_cast<float*>(stream.scratch().data());
              one(args, task, memory + static_cast<size_t>(thread) * per_thread);
            });
          },
          scratch};
}

size_t scratch_of_get_rows(const PackedGetRowsArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * stored_elements_of(args.table)) * sizeof(float);
}

// `decode` yields the stored values of an encoded row.
void decode_rows(Stream& stream, const PackedGetRowsArgs& args, TransformRow* from_stored,
                 FunctionRef<void(const std::byte* row, float* stored)> decode) {
  const PackedRows& table = args.table;
  pool_of(stream).run(args.rows.n_elements(), [&](int64_t i, int thread) {
    const int32_t row = args.rows.as<const int32_t>()[i];
    assert(row >= 0 && row < table.bytes.n_rows());
    float* stored = reinterpret_cast<float*>(stream.scratch().data()) + thread * stored_elements_of(table);
    decode(table.bytes.row(row), stored);
    from_stored(transform_of(table), stored, args.out.as<float>() + i * table.head_dim, table.head_dim);
  });
}

void scalar_get_rows(Stream& stream, const PackedGetRowsArgs& args) {
  decode_rows(stream, args, from_stored, [&](const std::byte* row, float* stored) {
    traits(args.table.format).decode_stored_row(row, stored, args.table.head_dim);
  });
}

template <const Kernels& kernels>
void block_get_rows(Stream& stream, const PackedGetRowsArgs& args) {
  decode_rows(stream, args, from_stored_of(kernels.isa), [&](const std::byte* row, float* stored) {
    kernels.decode[static_cast<size_t>(args.table.format)](row, stored, stored_elements_of(args.table));
  });
}

template <const Kernels& kernels>
PackedOps ops_with() {
  return {{block_get_rows<kernels>, scratch_of_get_rows},
          cell_of<PackedScoresArgs, block_scores<kernels>, scratch_of_scalar_scores>(),
          cell_of<PackedAttentionArgs, block_attention<kernels>, scratch_of_block_attention>()};
}

}  // namespace

PackedOps packed_ops([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return ops_with<packed::kAvx2>();
  if (is_avx512(isa)) return ops_with<packed::kAvx512>();
#elif PARLANCE_NEON
  if (isa != Isa::scalar) return ops_with<packed::kNeon>();
#endif
  return {{scalar_get_rows, scratch_of_get_rows},
          cell_of<PackedScoresArgs, scalar_scores, scratch_of_scalar_scores>(),
          cell_of<PackedAttentionArgs, scalar_attention, scratch_of_scalar_attention>()};
}

PackedOps packed_ops(const Device& device) {
  const OpTable& table = device.ops();
  return {table.packed_get_rows, table.packed_scores, table.packed_attention};
}

}  // namespace parlance::verify
