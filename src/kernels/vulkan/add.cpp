// add with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct AddPush {
  uint32_t n, x_first, y_first;
};

void run_add(Stream& s, const AddArgs& args) {
  const int64_t n = args.x.n_elements();
  const AddPush push{static_cast<uint32_t>(n), word_offset(args.x), word_offset(args.y)};
  dispatch(s, "add", {}, {operand_of(args.x), operand_of(args.y)}, push, groups_for(n));
}

}  // namespace

void fill_add(OpTable& table) {
  table.add = {run_add};
}

}  // namespace parlance::vulkan
