// snake with Vulkan: one invocation per element.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct SnakePush {
  uint32_t n, n_channel;
  uint32_t x_first, alpha_first;
};

void run_snake(Stream& s, const SnakeArgs& args) {
  const int64_t n = args.x.n_elements();
  const SnakePush push{static_cast<uint32_t>(n), static_cast<uint32_t>(args.x.ne[0]), word_offset(args.x),
                       word_offset(args.alpha)};
  dispatch(s, "snake", {}, {operand_of(args.x), operand_of(args.alpha)}, push, groups_for(n));
}

}  // namespace

void fill_snake(OpTable& table) {
  table.snake = {run_snake};
}

}  // namespace parlance::vulkan
