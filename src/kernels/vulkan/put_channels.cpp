// put_channels with Vulkan: one invocation per value.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct PutChannelsPush {
  uint32_t n;
  uint32_t from_first, to_first;
  uint32_t n_from, n_channel, first;
};

void run_put_channels(Stream& s, const PutChannelsArgs& args) {
  const int64_t n = args.src.n_elements();
  const PutChannelsPush push{.n = static_cast<uint32_t>(n),
                             .from_first = word_offset(args.src),
                             .to_first = word_offset(args.dst),
                             .n_from = static_cast<uint32_t>(args.src.ne[0]),
                             .n_channel = static_cast<uint32_t>(args.dst.ne[0]),
                             .first = static_cast<uint32_t>(args.first)};
  dispatch(s, "put_channels", {}, {operand_of(args.src), operand_of(args.dst)}, push, groups_for(n));
}

}  // namespace

void fill_put_channels(OpTable& table) {
  table.put_channels = {run_put_channels};
}

}  // namespace parlance::vulkan
