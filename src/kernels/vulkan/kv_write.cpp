// kv_write with Vulkan: one launch for the keys, one for the values.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_layer.h"

namespace parlance::vulkan {

namespace {

struct Push {
  uint32_t n;
  uint32_t x_first, pos_first, seq_first, table_first;
  uint32_t n_head, head_dim, units_per_row;
  uint32_t max_pages, page_tokens;
  uint32_t page_halves, first_half, row_halves;
};

// The shader's own numbers of the formats.
static_assert(KvFormat::f32 == KvFormat{0} && KvFormat::f16 == KvFormat{1} && KvFormat::bf16 == KvFormat{2} &&
              KvFormat::q8_0 == KvFormat{3});

// Elements that one invocation encodes.
int64_t unit_elements(KvFormat format) {
  switch (format) {
    case KvFormat::f32:
      return 1;
    case KvFormat::f16:
    case KvFormat::bf16:
      return 2;
    case KvFormat::q8_0:
      return 32;
    default:
      break;
  }
  assert(false && "formats that the table has no cell for are refused before");
  return 1;
}

// Keys or values, whose rows start `side_bytes` behind the start of a page.
void write_side(Stream& s, const KvWriteArgs& args, const Tensor& x, KvFormat format, size_t row_bytes,
                size_t side_bytes) {
  const KvView& kv = args.kv;
  const int64_t units_per_row = div_up(x.ne[0], unit_elements(format));
  const int64_t n = units_per_row * x.ne[1] * x.ne[2];
  const auto halves = [](size_t bytes) { return static_cast<uint32_t>(bytes / 2); };
  assert(kv.page_bytes % 4 == 0 && kv.layer_bytes / 2 <= UINT32_MAX);
  const KvLayer layer = kv_layer(kv);
  const Push push{.n = static_cast<uint32_t>(n),
                  .x_first = word_offset(x),
                  .pos_first = word_offset(args.batch.pos),
                  .seq_first = word_offset(args.batch.seq),
                  .table_first = word_offset(kv.page_table),
                  .n_head = static_cast<uint32_t>(x.ne[1]),
                  .head_dim = static_cast<uint32_t>(x.ne[0]),
                  .units_per_row = static_cast<uint32_t>(units_per_row),
                  .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                  .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                  .page_halves = halves(kv.page_bytes),
                  .first_half = halves(layer.first_byte + side_bytes),
                  .row_halves = halves(row_bytes)};
  dispatch(s, "kv_write", {static_cast<uint32_t>(format)},
           {operand_of(x), operand_of(args.batch.pos), operand_of(args.batch.seq), operand_of(kv.page_table),
            layer.operand},
           push, groups_for(n));
}

void run_kv_write(Stream& s, const KvWriteArgs& args) {
  const KvView& kv = args.kv;
  const SideBySide side_by_side(s);
  write_side(s, args, args.k, kv.k.format, kv.k_row_bytes, kv.k_offset(0));
  write_side(s, args, args.v, kv.v.format, kv.v_row_bytes, kv.v_offset(0));
}

}  // namespace

void fill_kv_write(OpTable& table) {
  fill_plain_formats(table.kv_write, {run_kv_write});
}

}  // namespace parlance::vulkan
