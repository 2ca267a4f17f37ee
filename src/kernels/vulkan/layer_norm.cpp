// layer_norm with Vulkan: one group per row.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct LayerNormPush {
  uint32_t n, n_rows;
  uint32_t x_first, weight_first, bias_first, out_first;
  float eps;
};

void run_layer_norm(Stream& s, const LayerNormArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  const LayerNormPush push{.n = static_cast<uint32_t>(args.x.ne[0]),
                           .n_rows = static_cast<uint32_t>(n_rows),
                           .x_first = word_offset(args.x),
                           .weight_first = word_offset(args.weight),
                           .bias_first = word_offset(args.bias),
                           .out_first = word_offset(args.out),
                           .eps = args.eps};
  dispatch(s, "layer_norm", {},
           {operand_of(args.x), operand_of(args.weight), operand_of(args.bias), operand_of(args.out)}, push,
           folded_groups(n_rows));
}

}  // namespace

void fill_layer_norm(OpTable& table) {
  table.layer_norm = {run_layer_norm};
}

}  // namespace parlance::vulkan
