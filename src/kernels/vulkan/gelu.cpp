// gelu with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct GeluPush {
  uint32_t n, x_first;
};

void run_gelu(Stream& s, const GeluArgs& args) {
  const int64_t n = args.x.n_elements();
  const GeluPush push{static_cast<uint32_t>(n), word_offset(args.x)};
  dispatch(s, "gelu", {}, {operand_of(args.x)}, push, groups_for(n));
}

}  // namespace

void fill_gelu(OpTable& table) {
  table.gelu = {run_gelu};
}

}  // namespace parlance::vulkan
