// short_conv with Vulkan: one invocation per channel and token.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct ShortConvPush {
  uint32_t n_tokens, n_channel, n_back, n_places;
  uint32_t x_at, weight_at, state_at, seq_at, pos_at, out_at, kept_at, from_at, to_at;
};

void run_short_conv(Stream& s, const ShortConvArgs& args) {
  const Recurrence& memory = args.memory;
  // Where nothing is kept, something must be bound and is not read.
  const Tensor& kept = memory.kept ? memory.kept : memory.state;
  const Tensor& from = memory.kept ? args.batch.state_from : args.batch.pos;
  const Tensor& to = memory.kept ? args.batch.state_to : args.batch.pos;
  const ShortConvPush push{.n_tokens = static_cast<uint32_t>(args.x.ne[1]),
                           .n_channel = static_cast<uint32_t>(args.x.ne[0]),
                           .n_back = static_cast<uint32_t>(args.weight.ne[0] - 1),
                           .n_places = memory.kept ? static_cast<uint32_t>(memory.kept.ne[1]) : 0,
                           .x_at = word_offset(args.x),
                           .weight_at = word_offset(args.weight),
                           .state_at = word_offset(memory.state),
                           .seq_at = word_offset(args.batch.seq),
                           .pos_at = word_offset(args.batch.pos),
                           .out_at = word_offset(args.out),
                           .kept_at = word_offset(kept),
                           .from_at = word_offset(from),
                           .to_at = word_offset(to)};
  dispatch(
      s, "short_conv", {},
      {operand_of(args.x), operand_of(args.weight), operand_of(memory.state), operand_of(args.batch.seq),
       operand_of(args.batch.pos), operand_of(args.out), operand_of(kept), operand_of(from), operand_of(to)},
      push, groups_for(args.x.n_elements()));
}

}  // namespace

void fill_short_conv(OpTable& table) {
  table.short_conv = {run_short_conv};
}

}  // namespace parlance::vulkan
