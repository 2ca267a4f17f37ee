// short_conv with Vulkan: one invocation per channel and token.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct Push {
  uint32_t n_tokens, n_channel, n_kept;
  uint32_t x_at, weight_at, state_at, seq_at, pos_at, out_at;
};

void run_short_conv(Stream& s, const ShortConvArgs& args) {
  const Push push{.n_tokens = static_cast<uint32_t>(args.x.ne[1]),
                  .n_channel = static_cast<uint32_t>(args.x.ne[0]),
                  .n_kept = static_cast<uint32_t>(args.weight.ne[0] - 1),
                  .x_at = word_offset(args.x),
                  .weight_at = word_offset(args.weight),
                  .state_at = word_offset(args.state),
                  .seq_at = word_offset(args.batch.seq),
                  .pos_at = word_offset(args.batch.pos),
                  .out_at = word_offset(args.out)};
  dispatch(s, "short_conv", {},
           {operand_of(args.x), operand_of(args.weight), operand_of(args.state), operand_of(args.batch.seq),
            operand_of(args.batch.pos), operand_of(args.out)},
           push, groups_for(args.x.n_elements()));
}

}  // namespace

void fill_short_conv(OpTable& table) {
  table.short_conv = {run_short_conv};
}

}  // namespace parlance::vulkan
