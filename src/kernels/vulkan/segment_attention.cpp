// segment_attention with Vulkan: one group for eight tokens of a head.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::vulkan {

namespace {

struct SegmentAttentionPush {
  uint32_t q_first, k_first, v_first, bounds_first, bias_first, out_first;
  uint32_t n_tokens, n_head, n_head_kv, n_bounds;
  uint32_t bias_width, head_dim;
  float scale;
};

void run_segment_attention(Stream& s, const SegmentAttentionArgs& args) {
  constexpr uint32_t kLanes = 64, kRows = 8;
  if (args.q.n_elements() == 0) return;
  const auto head_dim = static_cast<uint32_t>(args.q.ne[0]);
  const SegmentAttentionPush push{.q_first = word_offset(args.q),
                                  .k_first = word_offset(args.k),
                                  .v_first = word_offset(args.v),
                                  .bounds_first = word_offset(args.bounds),
                                  .bias_first = word_offset(args.bias),
                                  .out_first = word_offset(args.out),
                                  .n_tokens = static_cast<uint32_t>(args.q.ne[2]),
                                  .n_head = static_cast<uint32_t>(args.q.ne[1]),
                                  .n_head_kv = static_cast<uint32_t>(args.k.ne[1]),
                                  .n_bounds = static_cast<uint32_t>(args.bounds.n_elements()),
                                  .bias_width = args.bias ? static_cast<uint32_t>(args.bias.ne[0]) : 0,
                                  .head_dim = head_dim,
                                  .scale = args.scale};
  dispatch(s, "segment_attention", {head_dim, div_up(head_dim, kLanes)},
           {operand_of(args.q), operand_of(args.k), operand_of(args.v), operand_of(args.bounds),
            operand_of(args.bias), operand_of(args.out)},
           push, {div_up(push.n_tokens, kRows), push.n_head, 1});
}

}  // namespace

void fill_segment_attention(OpTable& table) {
  table.segment_attention = {run_segment_attention};
}

}  // namespace parlance::vulkan
