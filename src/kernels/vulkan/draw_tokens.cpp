// draw_tokens with Vulkan: one group per row.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

static_assert(kMostTopLogits == 128, "a group has an invocation for each");

struct DrawTokensPush {
  uint32_t n_rows, n_told, draws_of_all;
  uint32_t told_first, draws_first, tokens_first;
};

void run_draw_tokens(Stream& s, const DrawTokensArgs& args) {
  const DrawTokensPush push{static_cast<uint32_t>(args.told.n_rows()),
                            static_cast<uint32_t>(args.told.ne[0]),
                            static_cast<uint32_t>(args.draws.ne[0]),
                            word_offset(args.told),
                            word_offset(args.draws),
                            word_offset(args.tokens)};
  dispatch(s, "draw_tokens", {}, {operand_of(args.told), operand_of(args.draws), operand_of(args.tokens)},
           push, folded_groups(args.told.n_rows()));
}

}  // namespace

void fill_draw_tokens(OpTable& table) {
  table.draw_tokens = {run_draw_tokens};
}

}  // namespace parlance::vulkan
