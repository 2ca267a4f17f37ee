// Operations on packed rows of cache formats, by the names under which elizaOS's llama.cpp has them: what
// `parlance verify` compares with recorded numbers. Models use attention() of ops.h, which reads pages.
#pragma once

#include <optional>

#include "kernels/cpu/cpu_device.h"
#include "kernels/ops.h"
#include "kernels/packed_args.h"

namespace parlance::verify {

// The kernels for them, each for every format.
struct PackedOps {
  Cell<PackedGetRowsArgs> get_rows;
  Cell<PackedScoresArgs> scores;
  Cell<PackedAttentionArgs> attention;
};
PackedOps packed_ops(Isa isa);  // of the CPU's instruction sets
PackedOps packed_ops(
    const Device& device);  // of another device: cells of its table, empty where it lacks them

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
