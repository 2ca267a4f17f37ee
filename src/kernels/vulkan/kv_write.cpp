// kv_write with Vulkan: one launch for the keys, one for the values.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_encode.h"

namespace parlance::vulkan {

namespace {

struct KvWritePush {  // as in kv_write.comp
  uint32_t n;
  uint32_t x_first, pos_first, seq_first, table_first;
  uint32_t n_head, head_dim, units_per_row;
  uint32_t max_pages, page_tokens;
  uint32_t page_halves, first_half, row_halves;
};

struct WholePush {  // as in kv_encode.comp
  uint32_t n;
  uint32_t x_first, pos_first, seq_first, table_first;
  uint32_t n_head;
  uint32_t max_pages, page_tokens;
  uint32_t page_halves, first_half;
  uint32_t rotated_block;
  float root;
};

// The shaders' own numbers of the formats.
static_assert(KvFormat::f32 == KvFormat{0} && KvFormat::f16 == KvFormat{1} && KvFormat::bf16 == KvFormat{2} &&
              KvFormat::q8_0 == KvFormat{3} && KvFormat::q4_0 == KvFormat{4} &&
              KvFormat::tbq3_0 == KvFormat{5} && KvFormat::tbq4_0 == KvFormat{6} &&
              KvFormat::tbq3_tcq == KvFormat{7} && KvFormat::qjl1_256 == KvFormat{8} &&
              KvFormat::q4_polar == KvFormat{9} && KvFormat::q4_polar_residual == KvFormat{10});

// Elements that one invocation of kv_write.comp encodes.
int64_t unit_elements(KvFormat format) {
  switch (format) {
    case KvFormat::f32:
      return 1;
    case KvFormat::f16:
    case KvFormat::bf16:
      return 2;
    default:
      return 32;
  }
}

void write_side(Stream& s, const KvView& kv, const BatchView& batch, const Tensor& x, const KvSide& side) {
  assert(kv.page_bytes % 4 == 0 && kv.layer_bytes / 2 <= UINT32_MAX);
  const KvLayer layer = kv_layer(kv);
  const uint32_t first_half = halves(layer.first_byte + side.start);
  if (is_encoded_whole(side.coding)) {
    const int64_t n = x.ne[1] * x.ne[2];
    const Rotation rotation = rotation_of(side);
    const WholePush push{.n = static_cast<uint32_t>(n),
                         .x_first = word_offset(x),
                         .pos_first = word_offset(batch.pos),
                         .seq_first = word_offset(batch.seq),
                         .table_first = word_offset(kv.page_table),
                         .n_head = static_cast<uint32_t>(x.ne[1]),
                         .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                         .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                         .page_halves = halves(kv.page_bytes),
                         .first_half = first_half,
                         .rotated_block = rotation.block,
                         .root = rotation.root};
    return dispatch(s, "kv_encode", encoder_constants(side),
                    {operand_of(x), operand_of(batch.pos), operand_of(batch.seq), operand_of(kv.page_table),
                     layer.operand, kv_constants(s), projection_of(s, side.coding.format)},
                    push, folded_groups(n));
  }
  const int64_t units_per_row = div_up(x.ne[0], unit_elements(side.coding.format));
  const int64_t n = units_per_row * x.ne[1] * x.ne[2];
  const KvWritePush push{.n = static_cast<uint32_t>(n),
                         .x_first = word_offset(x),
                         .pos_first = word_offset(batch.pos),
                         .seq_first = word_offset(batch.seq),
                         .table_first = word_offset(kv.page_table),
                         .n_head = static_cast<uint32_t>(x.ne[1]),
                         .head_dim = static_cast<uint32_t>(x.ne[0]),
                         .units_per_row = static_cast<uint32_t>(units_per_row),
                         .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                         .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                         .page_halves = halves(kv.page_bytes),
                         .first_half = first_half,
                         .row_halves = halves(side.row_bytes)};
  dispatch(
      s, "kv_write", {static_cast<uint32_t>(side.coding.format)},
      {operand_of(x), operand_of(batch.pos), operand_of(batch.seq), operand_of(kv.page_table), layer.operand},
      push, groups_for(n));
}

void run_kv_write(Stream& s, const KvWriteArgs& args) {
  const KvView& kv = written_view(args.kv);
  const SideBySide side_by_side(s);
  write_side(s, kv, args.batch, args.k, keys_of(kv));
  write_side(s, kv, args.batch, args.v, values_of(kv));
}

}  // namespace

void fill_kv_write(OpTable& table) {
  for (auto& row : table.kv_write) row.fill({run_kv_write});
}

}  // namespace parlance::vulkan
