// add_rms_norm with Vulkan: one group per row.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/norm.h"

namespace parlance::vulkan {

namespace {

struct AddRmsNormPush {
  uint32_t n, n_rows;
  uint32_t h_first, y_first, weight_first, out_first;
  float eps;
};

void run_add_rms_norm(Stream& s, const AddRmsNormArgs& args) {
  const int64_t n_rows = args.h.n_rows();
  const AddRmsNormPush push{static_cast<uint32_t>(args.h.ne[0]),
                            static_cast<uint32_t>(n_rows),
                            word_offset(args.h),
                            word_offset(args.y),
                            word_offset(args.weight),
                            word_offset(args.out),
                            args.eps};
  dispatch(s, "add_rms_norm", {norm_lanes(limits_of(s))},
           {operand_of(args.h), operand_of(args.y), operand_of(args.weight), operand_of(args.out)}, push,
           folded_groups(n_rows));
}

}  // namespace

void fill_add_rms_norm(OpTable& table) {
  table.add_rms_norm = {run_add_rms_norm};
}

}  // namespace parlance::vulkan
