// elu with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct EluPush {
  uint32_t n, x_first;
};

void run_elu(Stream& s, const EluArgs& args) {
  const int64_t n = args.x.n_elements();
  const EluPush push{static_cast<uint32_t>(n), word_offset(args.x)};
  dispatch(s, "elu", {}, {operand_of(args.x)}, push, groups_for(n));
}

}  // namespace

void fill_elu(OpTable& table) {
  table.elu = {run_elu};
}

}  // namespace parlance::vulkan
