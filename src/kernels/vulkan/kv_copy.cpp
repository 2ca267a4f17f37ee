// kv_copy with Vulkan: one launch for the keys, one for the values.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_encode.h"

namespace parlance::vulkan {

namespace {

struct KvCopyPush {
  uint32_t n;
  uint32_t copies_first, table_first;
  uint32_t n_head, max_pages, page_tokens;
  uint32_t page_halves, first_half, row_halves;
};

// Keys or values, whose rows start `side_bytes` behind the start of a page.
void copy_side(Stream& s, const KvCopyArgs& args, size_t row_bytes, size_t side_bytes) {
  const KvView& kv = written_view(args.kv);
  const int64_t n = args.copies.ne[1] * kv.n_head_kv;
  assert(kv.page_bytes % 4 == 0 && row_bytes % 2 == 0 && kv.layer_bytes / 2 <= UINT32_MAX);
  const KvLayer layer = kv_layer(kv);
  const KvCopyPush push{.n = static_cast<uint32_t>(n),
                        .copies_first = word_offset(args.copies),
                        .table_first = word_offset(kv.page_table),
                        .n_head = static_cast<uint32_t>(kv.n_head_kv),
                        .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                        .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                        .page_halves = halves(kv.page_bytes),
                        .first_half = halves(layer.first_byte + side_bytes),
                        .row_halves = halves(row_bytes)};
  const bool has_words = row_bytes % 4 == 0 && (layer.first_byte + side_bytes) % 4 == 0;
  dispatch(s, "kv_copy", {has_words ? 1u : 0u},
           {operand_of(args.copies), operand_of(kv.page_table), layer.operand}, push, folded_groups(n));
}

void run_kv_copy(Stream& s, const KvCopyArgs& args) {
  const KvView& kv = written_view(args.kv);
  const SideBySide side_by_side(s);
  copy_side(s, args, kv.k_row_bytes, kv.k_offset(0));
  copy_side(s, args, kv.v_row_bytes, kv.v_offset(0));
}

}  // namespace

void fill_kv_copy(OpTable& table) {
  table.kv_copy = {run_kv_copy};
}

}  // namespace parlance::vulkan
