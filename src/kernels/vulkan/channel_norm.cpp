// channel_norm with Vulkan: one group for 16 channels.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct ChannelNormPush {
  uint32_t n, n_channel;
  uint32_t x_first, weight_first, bias_first;
  float eps;
};

void run_channel_norm(Stream& s, const ChannelNormArgs& args) {
  const int64_t n_channel = args.x.ne[0];
  if (args.x.n_elements() == 0) return;
  const ChannelNormPush push{.n = static_cast<uint32_t>(args.x.ne[1]),
                             .n_channel = static_cast<uint32_t>(n_channel),
                             .x_first = word_offset(args.x),
                             .weight_first = word_offset(args.weight),
                             .bias_first = word_offset(args.bias),
                             .eps = args.eps};
  dispatch(s, "channel_norm", {}, {operand_of(args.x), operand_of(args.weight), operand_of(args.bias)}, push,
           folded_groups(div_up<int64_t>(n_channel, 16)));
}

}  // namespace

void fill_channel_norm(OpTable& table) {
  table.channel_norm = {run_channel_norm};
}

}  // namespace parlance::vulkan
