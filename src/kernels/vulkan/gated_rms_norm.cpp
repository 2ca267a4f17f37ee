// gated_rms_norm with Vulkan: one group per row.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct GatedRmsNormPush {
  uint32_t n, n_rows;
  uint32_t x_first, weight_first, gate_first, out_first;
  float eps;
};

void run_gated_rms_norm(Stream& s, const GatedRmsNormArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  const GatedRmsNormPush push{static_cast<uint32_t>(args.x.ne[0]),
                              static_cast<uint32_t>(n_rows),
                              word_offset(args.x),
                              word_offset(args.weight),
                              word_offset(args.gate),
                              word_offset(args.out),
                              args.eps};
  dispatch(s, "gated_rms_norm", {},
           {operand_of(args.x), operand_of(args.weight), operand_of(args.gate), operand_of(args.out)}, push,
           folded_groups(n_rows));
}

}  // namespace

void fill_gated_rms_norm(OpTable& table) {
  table.gated_rms_norm = {run_gated_rms_norm};
}

}  // namespace parlance::vulkan
