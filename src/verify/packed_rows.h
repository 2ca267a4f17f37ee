// Operations on packed rows of cache formats, by the names under which elizaOS's llama.cpp has them: what
// `parlance verify` compares with recorded numbers. Models use attention() of ops.h, which reads pages.
#pragma once

#include <optional>

#include "kernels/cpu/cpu_device.h"
#include "kernels/ops.h"

namespace parlance::verify {

// Encoded head vectors outside of a cache's pages: those of a KV head follow each other. Sketches are read
// without bias.
struct PackedRows {
  Tensor bytes;  // i8 [kv_row_bytes(format, head_dim), n_rows, n_head_kv, n_seq]
  KvFormat format = {};
  int64_t head_dim = 0;
};

// Queries of packed rows. Head h of n_head reads KV head h / (n_head / n_head_kv).
struct PackedQuery {
  Tensor q = {};            // f32 [n, n_head, n_batch, n_seq]
  bool is_stored = false;   // n = stored_elements(): transformed by the caller; else n = head_dim
  bool is_rounded = false;  // to bytes, each sketch by itself (quant/sketch_int8.h)
  float factor = 1;         // of q . k
};

struct PackedGetRowsArgs {
  PackedRows table;  // of one KV head and sequence
  Tensor rows;       // i32 [n_out]
  Tensor out;        // f32 [head_dim, n_out]
};

struct PackedScoresArgs {
  PackedQuery query;
  PackedRows k;
  Tensor out;  // f32 [n_rows, n_head, n_batch, n_seq]: factor q . k, neither masked nor scaled otherwise
};

// softmax(scale factor q k^T) v. A row of zeros where a query sees nothing, or its largest score is not
// finite.
struct PackedAttentionArgs {
  PackedQuery query;
  PackedRows k, v;  // as many rows
  float scale = 1;
  bool is_causal = false;  // query i of n_batch sees rows 0 .. q_pos_base + i; else all
  int64_t q_pos_base = 0;
  Tensor out;  // f32 [head_dim of v, n_head, n_batch, n_seq]
};

// The kernels for them: of the CPU's instruction sets, for every format. Empty cells of other devices.
struct PackedOps {
  Cell<PackedGetRowsArgs> get_rows;
  Cell<PackedScoresArgs> scores;
  Cell<PackedAttentionArgs> attention;
};
PackedOps packed_ops(std::optional<Isa> isa);

// Head vectors by row number, decoded: [head_dim, n_rows].
Tensor get_rows(Stream& s, const PackedOps& ops, const PackedRows& table, const Tensor& rows);

// table x for each vector of x [head_dim, n_vector]: -> [n_rows, n_vector]
Tensor mul_mv(Stream& s, const PackedOps& ops, const PackedRows& table, const Tensor& x);

// factor q . k for all pairs: [n_rows, n_head, n_batch, n_seq]. The functions below are this one with the
// queries that their names stand for.
Tensor packed_scores(Stream& s, const PackedOps& ops, const PackedQuery& query, const PackedRows& k);

// Of sketches of queries, q_sketch = Pi^T q [256, n_head, …]; in f32, or rounded to bytes.
enum class SketchPrecision : uint8_t { f32, i8 };
Tensor attn_score_qjl(Stream& s, const PackedOps& ops, const Tensor& q_sketch, const PackedRows& k,
                      SketchPrecision precision = SketchPrecision::f32);

// Of head vectors for tbq3_0 and tbq4_0, of rotated ones for tbq3_tcq.
Tensor attn_score_tbq(Stream& s, const PackedOps& ops, const Tensor& q, const PackedRows& k);

// Of head vectors, or of their Hadamard transforms without a factor (attn_score_polar_preht). The residual is
// read when the format is q4_polar_residual.
enum class PolarQuery : uint8_t { plain, hadamard };
Tensor attn_score_polar(Stream& s, const PackedOps& ops, const Tensor& q, const PackedRows& k,
                        PolarQuery form = PolarQuery::plain);

// softmax(scale q k^T) v for any pair of formats, in f32: [head_dim of v, n_head, n_batch, n_seq].
struct PackedMask {
  bool is_causal = false;  // query i sees rows 0 .. q_pos_base + i
  int64_t q_pos_base = 0;
};
Tensor packed_attention(Stream& s, const PackedOps& ops, const PackedQuery& query, const PackedRows& k,
                        const PackedRows& v, float scale, const PackedMask& mask);

// The same from sketches: fused_attn_qjl_tbq and fused_attn_qjl_polar, by the format of v.
Tensor fused_attn_qjl(Stream& s, const PackedOps& ops, const Tensor& q_sketch, const PackedRows& k,
                      const PackedRows& v, float sm_scale, const PackedMask& mask);

// The factor of sketch . signs that makes it an estimate without bias: sqrt(pi / 2) / 256.
inline constexpr float kSketchFactor = 1.2533141373155003f / 256;

}  // namespace parlance::verify
