// rope_angles with Vulkan: one invocation per pair and token.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct Push {
  uint32_t n;
  uint32_t pos_first, inverse_first, out_first;
  uint32_t n_pairs;
  float magnitude;
};

void run_rope_angles(Stream& s, const RopeAnglesArgs& args) {
  const int64_t n_pairs = args.inverse.ne[0];
  const int64_t n = n_pairs * args.pos.n_elements();
  const Push push{.n = static_cast<uint32_t>(n),
                  .pos_first = word_offset(args.pos),
                  .inverse_first = word_offset(args.inverse),
                  .out_first = word_offset(args.out),
                  .n_pairs = static_cast<uint32_t>(n_pairs),
                  .magnitude = args.magnitude};
  dispatch(s, "rope_angles", {}, {operand_of(args.pos), operand_of(args.inverse), operand_of(args.out)}, push,
           groups_for(n));
}

}  // namespace

void fill_rope_angles(OpTable& table) {
  table.rope_angles = {run_rope_angles};
}

}  // namespace parlance::vulkan
