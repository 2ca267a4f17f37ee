// col2im with Vulkan: one invocation per value.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct Col2imPush {
  uint32_t n;
  uint32_t columns_first, bias_first, out_first;
  uint32_t n_channel, n_columns, stride;
};

void run_col2im(Stream& s, const Col2imArgs& args) {
  const int64_t n = args.out.n_elements();
  const Col2imPush push{.n = static_cast<uint32_t>(n),
                        .columns_first = word_offset(args.columns),
                        .bias_first = word_offset(args.bias),
                        .out_first = word_offset(args.out),
                        .n_channel = static_cast<uint32_t>(args.out.ne[0]),
                        .n_columns = static_cast<uint32_t>(args.columns.ne[1]),
                        .stride = static_cast<uint32_t>(args.stride)};
  dispatch(s, "col2im", {}, {operand_of(args.columns), operand_of(args.bias), operand_of(args.out)}, push,
           groups_for(n));
}

}  // namespace

void fill_col2im(OpTable& table) {
  table.col2im = {run_col2im};
}

}  // namespace parlance::vulkan
