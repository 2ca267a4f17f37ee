// rope with Vulkan: one invocation per pair.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct RopePush {
  uint32_t n;
  uint32_t x_first, angles_first;
  uint32_t head_dim, n_head, n_pairs;
  uint32_t a_stride, b_offset;
};

void run_rope(Stream& s, const RopeArgs& args) {
  const int64_t n_pairs = args.angles.ne[0];
  const int64_t n = n_pairs * args.x.ne[1] * args.x.ne[2];
  const bool is_halves = args.style == RopeStyle::halves;
  const RopePush push{.n = static_cast<uint32_t>(n),
                      .x_first = word_offset(args.x),
                      .angles_first = word_offset(args.angles),
                      .head_dim = static_cast<uint32_t>(args.x.ne[0]),
                      .n_head = static_cast<uint32_t>(args.x.ne[1]),
                      .n_pairs = static_cast<uint32_t>(n_pairs),
                      .a_stride = is_halves ? 1u : 2u,
                      .b_offset = is_halves ? static_cast<uint32_t>(n_pairs) : 1u};
  dispatch(s, "rope", {}, {operand_of(args.x), operand_of(args.angles)}, push, groups_for(n));
}

}  // namespace

void fill_rope(OpTable& table) {
  table.rope = {run_rope};
}

}  // namespace parlance::vulkan
