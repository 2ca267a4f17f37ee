// norm_rope_write with Vulkan: one group per head of q, k and v; compressed formats are written by a launch
// of their own.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_encode.h"

namespace parlance::vulkan {

namespace {

struct NormRopeWritePush {
  uint32_t n;
  uint32_t q_first, k_first, v_first, q_norm_first, k_norm_first, angles_first;
  uint32_t has_q_norm, has_k_norm;
  uint32_t n_head, n_head_kv, head_dim, head_dim_v, n_pairs;
  uint32_t a_stride, b_offset;
  float eps;
  uint32_t has_equaliser;
  uint32_t k_shift_first, k_scale_first, q_scale_first;
  uint32_t pos_first, seq_first, table_first;
  uint32_t max_pages, page_tokens;
  uint32_t page_halves;
  uint32_t k_first_half, v_first_half;
  uint32_t k_row_halves, v_row_halves;
};

void run_norm_rope_write(Stream& s, const NormRopeWriteArgs& args) {
  const KvView& kv = written_view(args.write.kv);
  const Tensor &k = args.write.k, &v = args.write.v;
  const BatchView& batch = args.write.batch;
  const bool writes = !is_encoded_whole(kv.k) && !is_encoded_whole(kv.v);
  assert(kv.page_bytes % 4 == 0 && kv.layer_bytes / 2 <= UINT32_MAX);
  const KvLayer layer = kv_layer(kv);
  const int64_t n = (args.q.ne[1] + (writes ? 2 : 1) * k.ne[1]) * args.q.ne[2];
  const bool is_halves = args.style == RopeStyle::halves;
  const auto n_pairs = static_cast<uint32_t>(args.angles.ne[0]);
  const NormRopeWritePush push{.n = static_cast<uint32_t>(n),
                               .q_first = word_offset(args.q),
                               .k_first = word_offset(k),
                               .v_first = word_offset(v),
                               .q_norm_first = word_offset(args.q_norm),
                               .k_norm_first = word_offset(args.k_norm),
                               .angles_first = word_offset(args.angles),
                               .has_q_norm = args.q_norm ? 1u : 0u,
                               .has_k_norm = args.k_norm ? 1u : 0u,
                               .n_head = static_cast<uint32_t>(args.q.ne[1]),
                               .n_head_kv = static_cast<uint32_t>(k.ne[1]),
                               .head_dim = static_cast<uint32_t>(args.q.ne[0]),
                               .head_dim_v = static_cast<uint32_t>(v.ne[0]),
                               .n_pairs = n_pairs,
                               .a_stride = is_halves ? 1u : 2u,
                               .b_offset = is_halves ? n_pairs : 1u,
                               .eps = args.eps,
                               .has_equaliser = kv.q_scale ? 1u : 0u,
                               .k_shift_first = word_offset(kv.k_shift),
                               .k_scale_first = word_offset(kv.k_scale),
                               .q_scale_first = word_offset(kv.q_scale),
                               .pos_first = word_offset(batch.pos),
                               .seq_first = word_offset(batch.seq),
                               .table_first = word_offset(kv.page_table),
                               .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                               .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                               .page_halves = halves(kv.page_bytes),
                               .k_first_half = halves(layer.first_byte + kv.k_offset(0)),
                               .v_first_half = halves(layer.first_byte + kv.v_offset(0)),
                               .k_row_halves = halves(kv.k_row_bytes),
                               .v_row_halves = halves(kv.v_row_bytes)};
  const auto most_dims = static_cast<uint32_t>(std::max(kv.head_dim_k, kv.head_dim_v));
  dispatch(
      s, "norm_rope_write",
      {writes ? 1u : 0u, writes ? static_cast<uint32_t>(kv.k.format) : 0,
       writes ? static_cast<uint32_t>(kv.v.format) : 0, writes ? most_dims : 1},
      {operand_of(args.q), operand_of(k), operand_of(args.q_norm), operand_of(args.k_norm),
       operand_of(args.angles), operand_of(kv.k_shift), operand_of(kv.k_scale), operand_of(kv.q_scale),
       operand_of(v), operand_of(batch.pos), operand_of(batch.seq), operand_of(kv.page_table), layer.operand},
      push, folded_groups(n));
  if (!writes)
    op_table().kv_write[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)].run(s,
                                                                                                args.write);
}

}  // namespace

void fill_norm_rope_write(OpTable& table) {
  table.equalises_kv = true;
  for (auto& row : table.norm_rope_write) row.fill({run_norm_rope_write});
}

}  // namespace parlance::vulkan
