// The operations on packed rows with Vulkan: one group for each vector.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_constants.h"

namespace parlance::vulkan {

namespace {

struct PackedGetRowsPush {  // as in packed_get_rows.comp
  uint32_t n;
  uint32_t bytes_at, row_bytes;
  uint32_t rows_first, out_first;
  uint32_t head_dim, n_stored;
};

struct ScoresPush {  // as in packed_scores.comp
  uint32_t n;
  uint32_t bytes_at, row_bytes;
  uint32_t q_first, out_first;
  uint32_t n_q, n_rows;
  uint32_t n_head, n_head_kv, n_batch;
  uint32_t is_stored, is_rounded;
  float factor, scale;
  uint32_t n_stored;
};

struct ValuesPush {  // as in packed_values.comp
  uint32_t n;
  uint32_t bytes_at, row_bytes;
  uint32_t out_first;
  uint32_t n_rows;
  uint32_t n_head, n_head_kv, n_batch;
  uint32_t is_causal;
  int32_t q_pos_base;
  uint32_t head_dim, n_stored;
};

KvTransform transform_of(const PackedRows& rows) {
  return traits(rows.format).transform;
}

uint32_t n_stored_of(const PackedRows& rows) {
  return static_cast<uint32_t>(stored_elements(transform_of(rows), rows.head_dim));
}

// The specialization constants of packed.glsl.
std::array<uint32_t, 5> shader_constants(const PackedRows& rows) {
  const uint32_t n_levels = rows.format == KvFormat::tbq3_tcq ? 512 : 16;
  return {static_cast<uint32_t>(rows.format), static_cast<uint32_t>(transform_of(rows)), n_stored_of(rows),
          n_levels, rows.format == KvFormat::q4_polar_residual ? 1u : 0u};
}

uint32_t row_bytes_of(const PackedRows& rows) {
  return static_cast<uint32_t>(rows.bytes.row_size());
}

void run_get_rows(Stream& s, const PackedGetRowsArgs& args) {
  const int64_t n = args.rows.n_elements();
  const PackedGetRowsPush push{.n = static_cast<uint32_t>(n),
                               .bytes_at = byte_offset(args.table.bytes),
                               .row_bytes = row_bytes_of(args.table),
                               .rows_first = word_offset(args.rows),
                               .out_first = word_offset(args.out),
                               .head_dim = static_cast<uint32_t>(args.table.head_dim),
                               .n_stored = n_stored_of(args.table)};
  dispatch(s, "packed_get_rows", shader_constants(args.table),
           {operand_of(args.table.bytes), kv_constants(s), sketch_of(s, transform_of(args.table)),
            operand_of(args.rows), operand_of(args.out)},
           push, folded_groups(n));
}

// To `out`, from its float `out_first` on.
void dispatch_scores(Stream& s, const PackedQuery& query, const PackedRows& k, float scale,
                     const Operand& out, uint32_t out_first) {
  const Tensor& q = query.q;
  const int64_t n = q.n_rows();
  const ScoresPush push{.n = static_cast<uint32_t>(n),
                        .bytes_at = byte_offset(k.bytes),
                        .row_bytes = row_bytes_of(k),
                        .q_first = word_offset(q),
                        .out_first = out_first,
                        .n_q = static_cast<uint32_t>(q.ne[0]),
                        .n_rows = static_cast<uint32_t>(k.bytes.ne[1]),
                        .n_head = static_cast<uint32_t>(q.ne[1]),
                        .n_head_kv = static_cast<uint32_t>(k.bytes.ne[2]),
                        .n_batch = static_cast<uint32_t>(q.ne[2]),
                        .is_stored = query.is_stored ? 1u : 0u,
                        .is_rounded = query.is_rounded ? 1u : 0u,
                        .factor = query.factor,
                        .scale = scale,
                        .n_stored = n_stored_of(k)};
  dispatch(s, "packed_scores", shader_constants(k),
           {operand_of(k.bytes), kv_constants(s), sketch_of(s, transform_of(k)), operand_of(q), out}, push,
           folded_groups(n));
}

void run_scores(Stream& s, const PackedScoresArgs& args) {
  dispatch_scores(s, args.query, args.k, 1, operand_of(args.out), word_offset(args.out));
}

size_t scratch_of_attention(const PackedAttentionArgs& args, int) {
  return static_cast<size_t>(args.query.q.n_rows() * args.k.bytes.ne[1]) * sizeof(float);
}

void run_attention(Stream& s, const PackedAttentionArgs& args) {
  const Tensor& q = args.query.q;
  const PackedRows& v = args.v;
  dispatch_scores(s, args.query, args.k, args.scale, scratch_of(s), 0);
  const ValuesPush push{.n = static_cast<uint32_t>(q.n_rows()),
                        .bytes_at = byte_offset(v.bytes),
                        .row_bytes = row_bytes_of(v),
                        .out_first = word_offset(args.out),
                        .n_rows = static_cast<uint32_t>(v.bytes.ne[1]),
                        .n_head = static_cast<uint32_t>(q.ne[1]),
                        .n_head_kv = static_cast<uint32_t>(v.bytes.ne[2]),
                        .n_batch = static_cast<uint32_t>(q.ne[2]),
                        .is_causal = args.is_causal ? 1u : 0u,
                        .q_pos_base = static_cast<int32_t>(args.q_pos_base),
                        .head_dim = static_cast<uint32_t>(v.head_dim),
                        .n_stored = n_stored_of(v)};
  dispatch(s, "packed_values", shader_constants(v),
           {operand_of(v.bytes), kv_constants(s), sketch_of(s, transform_of(v)), scratch_of(s),
            operand_of(args.out)},
           push, folded_groups(q.n_rows()));
}

}  // namespace

void fill_packed(OpTable& table) {
  table.packed_get_rows = {run_get_rows};
  table.packed_scores = {run_scores};
  table.packed_attention = {run_attention, scratch_of_attention};
}

}  // namespace parlance::vulkan
