// argmax with Vulkan: one group per row.
#include <algorithm>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct ArgmaxPush {
  uint32_t n, n_rows;
  uint32_t x_first, out_first;
  uint32_t n_told, rank;
};

void run_argmax(Stream& s, const ArgmaxArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  const ArgmaxPush push{static_cast<uint32_t>(args.x.ne[0]),
                        static_cast<uint32_t>(n_rows),
                        word_offset(args.x),
                        word_offset(args.out),
                        static_cast<uint32_t>(args.out.ne[0]),
                        static_cast<uint32_t>(args.rank)};
  const uint32_t n_threads = std::min(1024u, limits_of(s).max_group_invocations);
  dispatch(s, "argmax", {n_threads}, {operand_of(args.x), operand_of(args.out)}, push, folded_groups(n_rows));
}

}  // namespace

void fill_argmax(OpTable& table) {
  table.argmax = {run_argmax};
}

}  // namespace parlance::vulkan
