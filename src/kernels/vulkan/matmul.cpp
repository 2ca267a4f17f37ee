// matmul on Vulkan: for quantised weights a pass rounds the activations; then one launch for each weight, by
// matmul_gemv for a few tokens and by matmul_gemm for many; both have a twin with _dot for devices that
// multiply four bytes at once.
#include <cassert>

#include "kernels/vulkan/gemm_tile.h"
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/matmul.h"
#include "kernels/vulkan/weights.h"
#include "quant/block_format.h"

namespace parlance::vulkan {

namespace {

constexpr int64_t kLanesPerRun = 8;  // of matmul_quantise.comp
constexpr size_t kScaleBytes = 16;   // of each run of activations, see matmul_quantise.comp

struct QuantisePush {
  uint32_t x_at;
  uint32_t scales_at;
  uint32_t n_runs;
  float smallest_magnitude;
};

struct MatmulPush {  // as in matmul.glsl
  uint32_t weight_at;
  uint32_t row_bytes;
  uint32_t x_at;
  uint32_t x_scales_at;
  uint32_t bias_at;
  uint32_t has_bias;
  uint32_t out_at;
  uint32_t n_in;
  uint32_t n_out;
  uint32_t first_row;
  uint32_t n_rows;
  uint32_t n_tokens;
  float smallest_magnitude;
};

// In scratch memory, codes come first: one byte for each activation.
uint32_t scales_at(const Tensor& x) {
  return static_cast<uint32_t>(static_cast<size_t>(x.n_elements()) / kScaleBytes);
}

size_t quantised_scratch(const MatmulArgs& args, int) {
  const auto n = static_cast<size_t>(args.x.n_elements());
  return n + n / matmul::kRun * kScaleBytes;
}

void quantise(Stream& s, const Tensor& x) {
  const auto n_runs = static_cast<uint32_t>(x.n_elements() / matmul::kRun);
  assert(byte_offset(x) % 16 == 0 && "rows of whole runs, in a workspace that is aligned more widely");
  const QuantisePush push{byte_offset(x) / 16, scales_at(x), n_runs, matmul::kSmallestMagnitude};
  dispatch(s, "matmul_quantise", {}, {operand_of(x), scratch_of(s), scratch_of(s)}, push,
           groups_for(int64_t{n_runs} * kLanesPerRun));
}

// Whether the lanes of gemv round the activations themselves: those of one token, for so small a matrix that
// doing it again in every workgroup takes less than a launch of its own.
bool rounds_itself(const MatmulArgs& args) {
  constexpr int64_t kMostWeights = int64_t{1} << 23;
  bool is_small = args.x.n_rows() == 1 && byte_offset(args.x) % 16 == 0;
  for (int i = 0; i < args.n_outputs; ++i)
    is_small = is_small && args.w[i].weight.n_elements() <= kMostWeights;
  return is_small && !is_float(args.w[0].weight.dtype);
}

struct Launch {
  std::string_view shader;
  std::vector<uint32_t> constants;
  Groups groups;
};

Launch gemv_launch(Stream& s, DType dtype, bool whole_quads, bool rounds_itself, const MatmulPush& push) {
  const DeviceLimits& limits = limits_of(s);
  const uint32_t n_lanes = lanes_of_row(limits, dtype, whole_quads, push.n_in);
  const uint32_t n_tokens = push.n_tokens == 1 ? 1 : push.n_tokens <= 4 || limits.is_software ? 4 : 8;
  const uint32_t n_rows = n_tokens == 1 && !limits.is_software ? 4 : 2;
  const bool has_dot = !is_float(dtype) && limits.has_integer_dot_product;
  Groups groups = folded_groups(div_up(push.n_rows, n_rows));
  groups.z = div_up(push.n_tokens, n_tokens);
  return {has_dot ? "matmul_gemv_dot" : "matmul_gemv", {n_lanes, n_rows, n_tokens, rounds_itself}, groups};
}

Launch gemm_launch(Stream& s, DType dtype, const MatmulPush& push) {
  const bool has_dot = !is_float(dtype) && limits_of(s).has_integer_dot_product;
  const GemmTile tile = gemm_tile(limits_of(s), has_dot, push.n_rows, push.n_tokens);
  return {has_dot ? "matmul_gemm_dot" : "matmul_gemm",
          {tile.n_lanes(), tile.row_lanes, tile.token_lanes},
          tile.groups(push.n_rows, push.n_tokens)};
}

void multiply(Stream& s, const Linear& linear, const Tensor& x, bool rounds_itself, const Tensor& out) {
  const DType dtype = linear.weight.dtype;
  const bool whole_quads = are_floats_in_quads(linear.weight, x);
  const Operand codes = is_float(dtype) ? Operand{} : scratch_of(s);
  for_each_piece(s, linear.weight, [&](const WeightPiece& piece) {
    const MatmulPush push{.weight_at = piece.at,
                          .row_bytes = static_cast<uint32_t>(linear.weight.row_size()),
                          .x_at = word_offset(x),
                          .x_scales_at = is_float(dtype) ? 0 : scales_at(x),
                          .bias_at = word_offset(linear.bias),
                          .has_bias = linear.bias ? 1u : 0u,
                          .out_at = word_offset(out),
                          .n_in = static_cast<uint32_t>(x.ne[0]),
                          .n_out = static_cast<uint32_t>(linear.weight.n_rows()),
                          .first_row = piece.first_row,
                          .n_rows = piece.n_rows,
                          .n_tokens = static_cast<uint32_t>(x.n_rows()),
                          .smallest_magnitude = matmul::kSmallestMagnitude};
    // gemv reads weights again for every 8 tokens, and gives a token the same sums whatever their number.
    const Launch launch = x.n_rows() <= kMostAlikeRows || limits_of(s).is_deterministic
                              ? gemv_launch(s, dtype, whole_quads, rounds_itself, push)
                              : gemm_launch(s, dtype, push);
    const auto type_constants = weight_constants(dtype, whole_quads);
    std::vector<uint32_t> constants(type_constants.begin(), type_constants.end());
    constants.insert(constants.end(), launch.constants.begin(), launch.constants.end());
    const std::array operands{piece.operand, piece.operand, operand_of(x),           operand_of(x),
                              codes,         codes,         operand_of(linear.bias), operand_of(out)};
    dispatch(s, launch.shader, constants, operands, std::as_bytes(std::span(&push, 1)), launch.groups);
  });
}

void run_matmul(Stream& s, const MatmulArgs& args, bool rounds_itself) {
  const SideBySide side_by_side(s);
  for (int i = 0; i < args.n_outputs; ++i) multiply(s, args.w[i], args.x, rounds_itself, args.out[i]);
}

void run_float(Stream& s, const MatmulArgs& args) {
  if (args.x.n_elements() != 0) run_matmul(s, args, false);
}

void run_quantised(Stream& s, const MatmulArgs& args) {
  if (args.x.n_elements() == 0) return;
  const bool lanes_round = rounds_itself(args);
  if (!lanes_round) quantise(s, args.x);
  run_matmul(s, args, lanes_round);
}

}  // namespace

void fill_matmul(OpTable& table) {
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const auto dtype = dtype_from_id(id);
    if (!dtype || !block_format(*dtype).decode_row) continue;
    table.matmul[id] =
        is_float(*dtype) ? Cell<MatmulArgs>{run_float} : Cell<MatmulArgs>{run_quantised, quantised_scratch};
  }
}

}  // namespace parlance::vulkan
