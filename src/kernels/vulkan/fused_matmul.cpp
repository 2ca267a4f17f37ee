// Products of a token that are normalised, added up or gated on Vulkan: by matmul_row.comp, or where that has
// no code for how they lie, by the operations that they stand for, which leave in scratch memory what is no
// result.
#include <bit>
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/matmul.h"
#include "kernels/vulkan/norm.h"
#include "kernels/vulkan/weights.h"
#include "quant/block_format.h"

namespace parlance::vulkan {

namespace {

constexpr size_t kAlignment = 256;

struct ProductPush {  // as in matmul_row.glsl
  uint32_t weight_at;
  uint32_t bias_at;
  uint32_t has_bias;
  uint32_t n_out;
  uint32_t out_at;
};

struct RowPush {
  std::array<ProductPush, MatmulArgs::kMaxOutputs> products;
  uint32_t n_products;
  uint32_t row_bytes;
  uint32_t n_in;
  uint32_t x_at;
  uint32_t norm_at;
  float eps;
  float smallest_magnitude;
  uint32_t n_pieces;
};

// Products [first, first + n) of the arguments, as a launch takes them.
struct RowLaunch {
  int first, n;
  JointOperand weights;  // then the biases of those that have one
};

bool is_aligned(const Tensor& tensor) {
  return byte_offset(tensor) % 16 == 0;
}

// Bytes of shared memory of matmul_row.comp.
size_t shared_bytes(const DeviceLimits& limits, uint32_t n_runs, uint32_t n_values) {
  const uint32_t n_threads = norm_lanes(limits);
  const uint32_t n_reduced = limits.has_subgroup_arithmetic ? n_threads / 4 : n_threads;
  return sizeof(float) * (size_t{n_runs} * (matmul::kRun / 4 + 1) + size_t{n_reduced} * n_values);
}

// Rows of each product that a team takes: few of them make many groups, which wait for memory at once, but
// each of these makes the token ready anew.
uint32_t rows_of_team(const DeviceLimits& limits, const FusedMatmulArgs& args) {
  constexpr int64_t kEnoughGroups = 512;
  const bool is_gate = args.end == MatmulEnd::gate;
  const Tensor& weight = args.products.w[0].weight;
  int64_t n_rows = 0;
  for (int i = 0; i < (is_gate ? 1 : args.products.n_outputs); ++i)
    n_rows += args.products.w[static_cast<size_t>(i)].weight.n_rows();
  const uint32_t n_lanes = lanes_of_row(limits, weight.dtype, true, static_cast<uint32_t>(weight.ne[0]));
  const int64_t n_groups = n_rows * n_lanes / norm_lanes(limits);
  const uint32_t most = limits.is_software || is_gate ? 2 : 4;
  uint32_t n = is_gate ? 2 : 1;
  while (n < most && n_groups / n > kEnoughGroups) n *= 2;
  return n;
}

// Room for runs of the token: similar sizes share a pipeline.
uint32_t most_runs(const Tensor& weight) {
  return is_float(weight.dtype) ? 1 : std::bit_ceil(static_cast<uint32_t>(weight.ne[0] / matmul::kRun));
}

// The products from number `first` on that one launch has the code for; none where the first is no such.
std::optional<RowLaunch> next_launch(Stream& s, const FusedMatmulArgs& args, int first) {
  const MatmulArgs& products = args.products;
  const auto product = [&](int i) -> const Linear& { return products.w[static_cast<size_t>(i)]; };
  const Tensor& weight = product(first).weight;
  const uint32_t n_values = rows_of_team(limits_of(s), args) * (args.end == MatmulEnd::gate ? 2 : 1);
  if (shared_bytes(limits_of(s), most_runs(weight), n_values) > limits_of(s).shared_bytes ||
      !is_aligned(products.x) || (args.norm && !is_aligned(args.norm))) {
    return std::nullopt;
  }
  for (int n = products.n_outputs - first; n > 0; --n) {
    std::vector<Tensor> weights, biases;
    bool is_one = true;
    for (int i = first; i < first + n; ++i) {
      const Linear& w = product(i);
      weights.push_back(w.weight);
      if (w.bias) biases.push_back(w.bias);
      is_one = is_one && w.weight.dtype == weight.dtype &&
               (!is_float(weight.dtype) || are_floats_in_quads(w.weight, products.x)) &&
               (args.end == MatmulEnd::gate || products.out[static_cast<size_t>(i)].buffer ==
                                                   products.out[static_cast<size_t>(first)].buffer);
    }
    if (!is_one) continue;
    weights.insert(weights.end(), biases.begin(), biases.end());
    if (auto joint = joint_operand(s, weights)) return RowLaunch{first, n, std::move(*joint)};
  }
  return std::nullopt;
}

// All products as launches; none where one of them has no code.
std::optional<std::vector<RowLaunch>> launches_of(Stream& s, const FusedMatmulArgs& args) {
  std::vector<RowLaunch> launches;
  for (int first = 0; first < args.products.n_outputs;) {
    auto launch = next_launch(s, args, first);
    if (!launch) return std::nullopt;
    first += launch->n;
    launches.push_back(std::move(*launch));
  }
  return launches;
}

void multiply_row(Stream& s, const FusedMatmulArgs& args, const RowLaunch& launch) {
  const DeviceLimits& limits = limits_of(s);
  const MatmulArgs& products = args.products;
  const Tensor& weight = products.w[static_cast<size_t>(launch.first)].weight;
  const auto n_in = static_cast<uint32_t>(weight.ne[0]);
  const bool is_gate = args.end == MatmulEnd::gate;
  RowPush push{.products = {},
               .n_products = static_cast<uint32_t>(launch.n),
               .row_bytes = static_cast<uint32_t>(weight.row_size()),
               .n_in = n_in,
               .x_at = word_offset(products.x),
               .norm_at = word_offset(args.norm),
               .eps = args.norm_eps,
               .smallest_magnitude = matmul::kSmallestMagnitude,
               .n_pieces = 1};
  const uint32_t n_threads = norm_lanes(limits);
  const uint32_t n_lanes = lanes_of_row(limits, weight.dtype, true, n_in);
  const uint32_t n_rows = rows_of_team(limits, args);
  int64_t n_pieces = 0;
  auto bias_at = launch.weights.at.begin() + launch.n;
  for (int i = 0; i < launch.n; ++i) {
    const Linear& w = products.w[static_cast<size_t>(launch.first + i)];
    push.products[static_cast<size_t>(i)] = {
        .weight_at = launch.weights.at[static_cast<size_t>(i)],
        .bias_at = w.bias ? *bias_at++ / 4 : 0,
        .has_bias = w.bias ? 1u : 0u,
        .n_out = static_cast<uint32_t>(w.weight.n_rows()),
        .out_at = word_offset(products.out[static_cast<size_t>(is_gate ? 0 : launch.first + i)])};
    if (i == 0 || !is_gate) n_pieces += div_up<int64_t>(w.weight.n_rows(), n_threads / n_lanes * n_rows);
  }
  // Of large weights a group takes several pieces, and makes the token ready for all of them.
  const int64_t most_groups = limits.is_software ? 16 : 640;
  push.n_pieces = static_cast<uint32_t>(div_up(n_pieces, most_groups));
  const bool is_rounded = !is_float(weight.dtype);
  const uint32_t n_held = is_rounded ? std::clamp(most_runs(weight) * 8 / n_threads, 1u, 4u) : 2;
  const auto type_constants = weight_constants(weight.dtype, true);
  std::vector<uint32_t> constants(type_constants.begin(), type_constants.end());
  constants.insert(constants.end(), {n_threads, n_lanes, n_rows, args.norm ? 1u : 0u,
                                     static_cast<uint32_t>(args.end), most_runs(weight), n_held});
  const Operand& weights = launch.weights.operand;
  const std::array operands{weights,
                            weights,
                            operand_of(products.x),
                            operand_of(products.x),
                            operand_of(args.norm),
                            operand_of(args.norm),
                            operand_of(products.out[static_cast<size_t>(is_gate ? 0 : launch.first)])};
  dispatch(s, is_rounded && limits.has_integer_dot_product ? "matmul_row_dot" : "matmul_row", constants,
           operands, std::as_bytes(std::span(&push, 1)),
           folded_groups(div_up<int64_t>(n_pieces, push.n_pieces)));
}

const Cell<MatmulArgs>& plain_cell(const Linear& w) {
  return op_table().matmul[static_cast<size_t>(w.weight.dtype)];
}

size_t floats_bytes(int64_t n) {
  return align_up(static_cast<size_t>(n) * sizeof(float), kAlignment);
}

// What the operations need for themselves.
size_t products_scratch(const FusedMatmulArgs& args) {
  size_t bytes = 0;
  for (int i = 0; i < args.products.n_outputs; ++i) {
    const auto& cell = plain_cell(args.products.w[static_cast<size_t>(i)]);
    if (cell.scratch) bytes = std::max(bytes, cell.scratch(args.products, 1));
  }
  return align_up(bytes, kAlignment);
}

// Behind that the token under its norm, and products that are no results yet.
size_t scratch_bytes(const FusedMatmulArgs& args, int) {
  size_t bytes = products_scratch(args) + floats_bytes(args.products.x.n_elements());
  for (int i = 0; i < args.products.n_outputs; ++i)
    bytes += floats_bytes(args.products.w[static_cast<size_t>(i)].weight.n_rows());
  return bytes;
}

// A tensor like another one, so many bytes from the start of scratch memory.
Tensor in_scratch(Stream& s, const Tensor& like, size_t at) {
  Tensor room = like;
  room.buffer = scratch_of(s).buffer;
  room.data = room.buffer->base() + at;
  return room;
}

// By the operations that these stand for.
void run_apart(Stream& s, const FusedMatmulArgs& args) {
  MatmulArgs products = args.products;
  size_t at = products_scratch(args);
  if (args.norm) {
    products.x = in_scratch(s, args.products.x, at);
    op_table().rms_norm.run(s, {args.products.x, args.norm, products.x, args.norm_eps});
  }
  at += floats_bytes(products.x.n_elements());
  for (int i = 0; i < products.n_outputs; ++i) {
    const Linear& w = products.w[static_cast<size_t>(i)];
    Tensor& out = products.out[static_cast<size_t>(i)];
    if (args.end != MatmulEnd::store) {
      out = in_scratch(s, args.products.out[0], at);
      at += floats_bytes(w.weight.n_rows());
    }
    MatmulArgs one{.x = products.x, .n_outputs = 1, .w = {}, .out = {}};
    one.w[0] = w;
    one.out[0] = out;
    plain_cell(w).run(s, one);
  }
  const Tensor& result = args.products.out[0];
  if (args.end == MatmulEnd::add) op_table().add.run(s, {result, products.out[0]});
  if (args.end == MatmulEnd::gate) op_table().swiglu.run(s, {products.out[0], products.out[1], result});
}

// Of an output matrix, so many groups take pieces that making the token ready in each of them takes longer
// than a launch that does it.
bool has_many_rows(const MatmulArgs& args) {
  constexpr int64_t kMany = 1 << 15;
  int64_t n = 0;
  for (int i = 0; i < args.n_outputs; ++i) n += args.w[static_cast<size_t>(i)].weight.n_rows();
  return n >= kMany;
}

void run_fused_matmul(Stream& s, const FusedMatmulArgs& args) {
  assert(args.products.x.n_rows() <= 1);
  if (args.products.x.n_elements() == 0) return;
  if (args.end == MatmulEnd::store && has_many_rows(args.products)) return run_apart(s, args);
  const auto launches = launches_of(s, args);
  if (!launches || (args.end == MatmulEnd::gate && launches->size() > 1)) return run_apart(s, args);
  const SideBySide side_by_side(s);
  for (const RowLaunch& launch : *launches) multiply_row(s, args, launch);
}

}  // namespace

const Cell<FusedMatmulArgs>& fused_matmul(DType weights) {
  static constexpr Cell<FusedMatmulArgs> kNone, kSome{run_fused_matmul, scratch_bytes};
  return block_format(weights).decode_row ? kSome : kNone;
}

}  // namespace parlance::vulkan
