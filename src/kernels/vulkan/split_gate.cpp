// split_gate with Vulkan: one invocation per element of a query and of its gate.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct SplitGatePush {
  uint32_t n, head_dim;
  uint32_t x_first, q_first, gate_first;
};

void run_split_gate(Stream& s, const SplitGateArgs& args) {
  const int64_t n = args.q.n_elements();
  const SplitGatePush push{static_cast<uint32_t>(n), static_cast<uint32_t>(args.q.ne[0]), word_offset(args.x),
                           word_offset(args.q), word_offset(args.gate)};
  dispatch(s, "split_gate", {}, {operand_of(args.x), operand_of(args.q), operand_of(args.gate)}, push,
           groups_for(n));
}

}  // namespace

void fill_split_gate(OpTable& table) {
  table.split_gate = {run_split_gate};
}

}  // namespace parlance::vulkan
