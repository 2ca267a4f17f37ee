// sigmoid_gate with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct SigmoidGatePush {
  uint32_t n, x_first, gate_first;
};

void run_sigmoid_gate(Stream& s, const SigmoidGateArgs& args) {
  const int64_t n = args.x.n_elements();
  const SigmoidGatePush push{static_cast<uint32_t>(n), word_offset(args.x), word_offset(args.gate)};
  dispatch(s, "sigmoid_gate", {}, {operand_of(args.x), operand_of(args.gate)}, push, groups_for(n));
}

}  // namespace

void fill_sigmoid_gate(OpTable& table) {
  table.sigmoid_gate = {run_sigmoid_gate};
}

}  // namespace parlance::vulkan
