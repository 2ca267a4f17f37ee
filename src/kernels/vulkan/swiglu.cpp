// swiglu with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct SwigluPush {
  uint32_t n, gate_first, up_first, out_first;
};

void run_swiglu(Stream& s, const SwigluArgs& args) {
  const int64_t n = args.out.n_elements();
  const SwigluPush push{static_cast<uint32_t>(n), word_offset(args.gate), word_offset(args.up),
                        word_offset(args.out)};
  dispatch(s, "swiglu", {}, {operand_of(args.gate), operand_of(args.up), operand_of(args.out)}, push,
           groups_for(n));
}

}  // namespace

void fill_swiglu(OpTable& table) {
  table.swiglu = {run_swiglu};
}

}  // namespace parlance::vulkan
