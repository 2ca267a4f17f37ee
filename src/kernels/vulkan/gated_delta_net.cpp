// gated_delta_net with Vulkan: a group for each window of tokens, value head and some rows of the state.
#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

namespace {

constexpr uint32_t kThreads = 128;  // of a group
constexpr uint32_t kWindows = 64;   // that tokens are shared out in

struct GatedDeltaNetPush {
  uint32_t n_tokens, window, head_dim, n_lanes, n_key_head, n_value_head, n_places;
  float eps;
  uint32_t qkv_at, alpha_at, beta_at, a_at, dt_bias_at, state_at, seq_at, pos_at, out_at;
  uint32_t kept_at, from_at, to_at;
};

void run_gated_delta_net(Stream& s, const GatedDeltaNetArgs& args) {
  const Recurrence& memory = args.memory;
  const auto head_dim = static_cast<uint32_t>(memory.state.ne[0]);
  const auto n_value_head = static_cast<uint32_t>(memory.state.ne[2]);
  const auto n_tokens = static_cast<uint32_t>(args.qkv.ne[1]);
  if (n_tokens == 0) return;
  // Few keys where the driver runs on the CPU, since it takes long to compile many.
  const uint32_t n_keys = std::max(limits_of(s).is_software ? 8u : 32u, div_up(head_dim, kThreads));
  const uint32_t n_lanes = std::bit_ceil(div_up(head_dim, n_keys));
  // Where nothing is kept, something must be bound and is not read.
  const Tensor& kept = memory.kept ? memory.kept : memory.state;
  const Tensor& from = memory.kept ? args.batch.state_from : args.batch.pos;
  const Tensor& to = memory.kept ? args.batch.state_to : args.batch.pos;
  const GatedDeltaNetPush push{
      .n_tokens = n_tokens,
      .window = div_up(n_tokens, kWindows),
      .head_dim = head_dim,
      .n_lanes = n_lanes,
      .n_key_head = (static_cast<uint32_t>(args.qkv.ne[0]) / head_dim - n_value_head) / 2,
      .n_value_head = n_value_head,
      .n_places = memory.kept ? static_cast<uint32_t>(memory.kept.ne[1]) : 0,
      .eps = args.eps,
      .qkv_at = word_offset(args.qkv),
      .alpha_at = word_offset(args.alpha),
      .beta_at = word_offset(args.beta),
      .a_at = word_offset(args.a),
      .dt_bias_at = word_offset(args.dt_bias),
      .state_at = word_offset(memory.state),
      .seq_at = word_offset(args.batch.seq),
      .pos_at = word_offset(args.batch.pos),
      .out_at = word_offset(args.out),
      .kept_at = word_offset(kept),
      .from_at = word_offset(from),
      .to_at = word_offset(to)};
  dispatch(
      s, "gated_delta_net", {n_keys},
      {operand_of(args.qkv), operand_of(args.alpha), operand_of(args.beta), operand_of(args.a),
       operand_of(args.dt_bias), operand_of(memory.state), operand_of(args.batch.seq),
       operand_of(args.batch.pos), operand_of(args.out), operand_of(kept), operand_of(from), operand_of(to)},
      push, {div_up(n_tokens, push.window), n_value_head, div_up(head_dim, kThreads / n_lanes)});
}

}  // namespace

void fill_gated_delta_net(OpTable& table) {
  table.gated_delta_net = {run_gated_delta_net};
}

}  // namespace parlance::vulkan
