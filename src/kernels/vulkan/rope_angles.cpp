// rope_angles and sectioned_rope_angles with Vulkan: one invocation per pair and token.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct RopeAnglesPush {
  uint32_t n;
  uint32_t pos_first, inverse_first, out_first;
  uint32_t n_pairs;
  float magnitude;
  uint32_t section_first, n_pos;
};

// `section` is absent where tokens have one position.
void dispatch_angles(Stream& s, const Tensor& pos, const Tensor& section, const Tensor& inverse,
                     float magnitude, const Tensor& out) {
  const int64_t n = out.n_elements() / 2;
  const RopeAnglesPush push{.n = static_cast<uint32_t>(n),
                            .pos_first = word_offset(pos),
                            .inverse_first = word_offset(inverse),
                            .out_first = word_offset(out),
                            .n_pairs = static_cast<uint32_t>(inverse.ne[0]),
                            .magnitude = magnitude,
                            .section_first = word_offset(section),
                            .n_pos = section ? static_cast<uint32_t>(pos.ne[0]) : 1};
  dispatch(s, "rope_angles", {section ? 1u : 0u},
           {operand_of(pos), operand_of(inverse), operand_of(out), operand_of(section)}, push, groups_for(n));
}

void run_rope_angles(Stream& s, const RopeAnglesArgs& args) {
  dispatch_angles(s, args.pos, {}, args.inverse, args.magnitude, args.out);
}

void run_sectioned(Stream& s, const SectionedRopeAnglesArgs& args) {
  dispatch_angles(s, args.pos, args.section, args.inverse, args.magnitude, args.out);
}

}  // namespace

void fill_rope_angles(OpTable& table) {
  table.rope_angles = {run_rope_angles};
  table.sectioned_rope_angles = {run_sectioned};
}

}  // namespace parlance::vulkan
