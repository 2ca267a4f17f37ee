#include "verify/packed_rows.h"

#include <cassert>

#include "kernels/submit.h"

namespace parlance::verify {

namespace {

std::string cell_name(std::string_view op, const PackedRows& rows) {
  return fmt::format("{} {}", op, name_of(rows.format));
}

[[maybe_unused]] bool is_well_formed(const PackedRows& rows) {
  return rows.bytes.dtype == DType::i8 && rows.head_dim % traits(rows.format).block_elements == 0 &&
         static_cast<size_t>(rows.bytes.ne[0]) == kv_row_bytes(rows.format, rows.head_dim);
}

[[maybe_unused]] bool fits(const PackedQuery& query, const PackedRows& k) {
  const int64_t n = query.is_stored ? stored_elements(traits(k.format).transform, k.head_dim) : k.head_dim;
  return query.q.dtype == DType::f32 && query.q.ne[0] == n && query.q.ne[1] % k.bytes.ne[2] == 0 &&
         query.q.ne[3] == k.bytes.ne[3] && is_well_formed(k);
}

}  // namespace

Tensor get_rows(Stream& s, const PackedOps& ops, const PackedRows& table, const Tensor& rows) {
  assert(rows.dtype == DType::i32 && is_well_formed(table) && table.bytes.ne[2] == 1 &&
         table.bytes.ne[3] == 1);
  const Tensor out = s.workspace().allocate(DType::f32, table.head_dim, rows.n_elements());
  submit(s, ops.get_rows, PackedGetRowsArgs{table, rows, out},
         s.plan() ? cell_name("packed_get_rows", table) : "", "");
  return out;
}

Tensor packed_scores(Stream& s, const PackedOps& ops, const PackedQuery& query, const PackedRows& k) {
  assert(fits(query, k));
  const Tensor& q = query.q;
  const Tensor out = s.workspace().allocate(DType::f32, k.bytes.ne[1], q.ne[1], q.ne[2], q.ne[3]);
  submit(s, ops.scores, PackedScoresArgs{query, k, out}, s.plan() ? cell_name("packed_scores", k) : "", "");
  return out;
}

Tensor mul_mv(Stream& s, const PackedOps& ops, const PackedRows& table, const Tensor& x) {
  const int64_t n_vector = x.n_rows();
  const PackedQuery query{.q = x.reshaped(x.ne[0], 1, n_vector)};
  return packed_scores(s, ops, query, table).reshaped(table.bytes.ne[1], n_vector);
}

Tensor attn_score_qjl(Stream& s, const PackedOps& ops, const Tensor& q_sketch, const PackedRows& k,
                      SketchPrecision precision) {
  assert(k.format == KvFormat::qjl1_256);
  return packed_scores(s, ops,
                       {.q = q_sketch,
                        .is_stored = true,
                        .is_rounded = precision == SketchPrecision::i8,
                        .factor = kSketchFactor},
                       k);
}

Tensor attn_score_tbq(Stream& s, const PackedOps& ops, const Tensor& q, const PackedRows& k) {
  assert(k.format == KvFormat::tbq3_0 || k.format == KvFormat::tbq4_0 || k.format == KvFormat::tbq3_tcq);
  return packed_scores(s, ops, {.q = q, .is_stored = k.format == KvFormat::tbq3_tcq}, k);
}

Tensor attn_score_polar(Stream& s, const PackedOps& ops, const Tensor& q, const PackedRows& k,
                        PolarQuery form) {
  assert(k.format == KvFormat::q4_polar || k.format == KvFormat::q4_polar_residual);
  if (form == PolarQuery::plain) return packed_scores(s, ops, {.q = q}, k);
  constexpr float kInverseSize = 1.0f / 128;  // KvTransform::hadamard_128 has it
  return packed_scores(s, ops, {.q = q, .is_stored = true, .factor = kInverseSize}, k);
}

Tensor packed_attention(Stream& s, const PackedOps& ops, const PackedQuery& query, const PackedRows& k,
                        const PackedRows& v, float scale, const PackedMask& mask) {
  assert(fits(query, k) && is_well_formed(v));
  assert(k.bytes.ne[1] == v.bytes.ne[1] && k.bytes.ne[2] == v.bytes.ne[2] && k.bytes.ne[3] == v.bytes.ne[3]);
  const Tensor& q = query.q;
  const Tensor out = s.workspace().allocate(DType::f32, v.head_dim, q.ne[1], q.ne[2], q.ne[3]);
  submit(s, ops.attention, PackedAttentionArgs{query, k, v, scale, mask.is_causal, mask.q_pos_base, out},
         s.plan() ? fmt::format("packed_attention k={} v={}", name_of(k.format), name_of(v.format)) : "", "");
  return out;
}

Tensor fused_attn_qjl(Stream& s, const PackedOps& ops, const Tensor& q_sketch, const PackedRows& k,
                      const PackedRows& v, float sm_scale, const PackedMask& mask) {
  assert(k.format == KvFormat::qjl1_256);
  return packed_attention(s, ops, {.q = q_sketch, .is_stored = true, .factor = kSketchFactor}, k, v, sm_scale,
                          mask);
}

}  // namespace parlance::verify
