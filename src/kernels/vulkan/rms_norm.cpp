// rms_norm with Vulkan: one group per row.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/norm.h"

namespace parlance::vulkan {

namespace {

struct RmsNormPush {
  uint32_t n, n_rows;
  uint32_t x_first, weight_first, out_first;
  float eps;
};

void run_rms_norm(Stream& s, const RmsNormArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  const RmsNormPush push{static_cast<uint32_t>(args.x.ne[0]),
                         static_cast<uint32_t>(n_rows),
                         word_offset(args.x),
                         word_offset(args.weight),
                         word_offset(args.out),
                         args.eps};
  dispatch(s, "rms_norm", {norm_lanes(limits_of(s))},
           {operand_of(args.x), operand_of(args.weight), operand_of(args.out)}, push, folded_groups(n_rows));
}

}  // namespace

void fill_rms_norm(OpTable& table) {
  table.rms_norm = {run_rms_norm};
}

}  // namespace parlance::vulkan
