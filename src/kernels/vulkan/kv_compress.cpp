// kv_compress with Vulkan: one launch for the keys, one for the values.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_encode.h"

namespace parlance::vulkan {

namespace {

struct KvCompressPush {  // as in kv_compress.comp
  uint32_t n;
  uint32_t moves_first;
  uint32_t rows_of_page;
  uint32_t exact_page_halves, exact_first_half;
  uint32_t page_halves, first_half;
  uint32_t rotated_block;
  float root;
};

void compress_side(Stream& s, const KvCompressArgs& args, const KvSide& side, size_t exact_start) {
  const KvView &kv = args.kv, &exact = *args.kv.exact;
  assert(exact.layer_bytes / 2 <= UINT32_MAX && kv.layer_bytes / 2 <= UINT32_MAX);
  const KvLayer layer = kv_layer(kv), exact_layer = kv_layer(exact);
  const int64_t rows_of_page = kv.n_head_kv * kv.page_tokens, n = rows_of_page * args.moves.ne[1];
  const Rotation rotation = rotation_of(side);
  const KvCompressPush push{.n = static_cast<uint32_t>(n),
                            .moves_first = word_offset(args.moves),
                            .rows_of_page = static_cast<uint32_t>(rows_of_page),
                            .exact_page_halves = halves(exact.page_bytes),
                            .exact_first_half = halves(exact_layer.first_byte + exact_start),
                            .page_halves = halves(kv.page_bytes),
                            .first_half = halves(layer.first_byte + side.start),
                            .rotated_block = rotation.block,
                            .root = rotation.root};
  dispatch(s, "kv_compress", encoder_constants(side),
           {exact_layer.operand,
            operand_of(args.moves),
            {},
            {},
            layer.operand,
            kv_constants(s),
            projection_of(s, side.coding.format)},
           push, folded_groups(n));
}

void run_kv_compress(Stream& s, const KvCompressArgs& args) {
  const SideBySide side_by_side(s);
  compress_side(s, args, keys_of(args.kv), args.kv.exact->k_offset(0));
  compress_side(s, args, values_of(args.kv), args.kv.exact->v_offset(0));
}

}  // namespace

void fill_kv_compress(OpTable& table) {
  for (auto& row : table.kv_compress) row.fill({run_kv_compress});
}

}  // namespace parlance::vulkan
