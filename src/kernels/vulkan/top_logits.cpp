// top_logits with Vulkan: one group per row.
#include <algorithm>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct TopLogitsPush {
  uint32_t n, n_rows;
  uint32_t x_first, out_first;
  uint32_t k;
};

// The shader needs as many invocations as there are logits to be told: every device has 128.
void run_top_logits(Stream& s, const TopLogitsArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  const TopLogitsPush push{static_cast<uint32_t>(args.x.ne[0]), static_cast<uint32_t>(n_rows),
                           word_offset(args.x), word_offset(args.out), static_cast<uint32_t>(args.k())};
  const uint32_t n_threads = std::min(1024u, limits_of(s).max_group_invocations);
  dispatch(s, "top_logits", {n_threads}, {operand_of(args.x), operand_of(args.out)}, push,
           folded_groups(n_rows));
}

}  // namespace

void fill_top_logits(OpTable& table) {
  table.top_logits = {run_top_logits};
}

}  // namespace parlance::vulkan
