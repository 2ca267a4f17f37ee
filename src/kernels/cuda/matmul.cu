// matmul on CUDA. Few tokens are bound by the memory that weights come from (gemv), many by arithmetic (gemm
// on the tensor cores); the sums of a token are the same in both. Quantised weights meet activations rounded
// to bytes, once for all weights of a call and equally on every device, 3 to 64 tokens on GPUs of compute
// capability 9.0 in quantised_few.cu; f16 and bf16 weights meet x as a sum of two such floats, 17 to 64
// tokens there in half_many.cu. In large pieces of a prompt f16 weights meet one (half_gemm.cu), and on GPUs
// of compute capability 9.0 quantised weights, too, become f16 and meet their activations as one
// (wide_gemm.cu, wide_blocks.cu).
#include <algorithm>
#include <optional>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/quantised_few.h"
#include "kernels/cuda/matmul/quantised_row.h"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/matmul/wide_kept.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

Products products_of(const MatmulArgs& args, DType dtype, int rows_per_tile) {
  Products products{};
  products.n_in = static_cast<int>(args.x.ne[0]);
  products.n_tokens = static_cast<int>(args.x.n_rows());
  for (int i = 0; i < args.n_outputs; ++i) {
    const Linear& linear = args.w[i];
    const int n_out = static_cast<int>(linear.weight.n_rows());
    if (linear.weight.dtype != dtype || n_out == 0) continue;
    products.outputs[products.n_outputs++] = {
        .weight = linear.weight.as<const uint8_t>(),
        .bias = linear.bias.as<const float>(),
        .out = args.out[i].as<float>(),
        .row_bytes = static_cast<int64_t>(linear.weight.row_size()),
        .n_out = n_out,
        .first_tile = products.n_tiles,
    };
    products.n_tiles += (n_out + rows_per_tile - 1) / rows_per_tile;
  }
  return products;
}

Products products_of(const FusedMatmulArgs& args, DType dtype, int rows_per_tile) {
  if (args.end != MatmulEnd::gate) return products_of(args.products, dtype, rows_per_tile);
  MatmulArgs gate = args.products;
  gate.n_outputs = 1;
  Products products = products_of(gate, dtype, rows_per_tile / 2);
  products.is_gated = true;
  Output& up = products.outputs[1];
  up = products.outputs[0];
  up.weight = args.products.w[1].weight.as<const uint8_t>();
  up.bias = args.products.w[1].bias.as<const float>();
  return products;
}

bool has_rows_of(const MatmulArgs& args, DType dtype) {
  for (int i = 0; i < args.n_outputs; ++i) {
    if (args.w[i].weight.dtype == dtype && args.w[i].weight.n_rows() > 0) return true;
  }
  return false;
}

namespace {
constexpr size_t kPiece = 16;
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % kPiece == 0;
}

bool has_aligned_rows(const Tensor& weight) {
  return is_aligned(weight) && weight.row_size() % kPiece == 0;
}

bool has_aligned_rows(const MatmulArgs& args, DType dtype) {
  for (int i = 0; i < args.n_outputs; ++i) {
    const Tensor& weight = args.w[i].weight;
    if (weight.dtype == dtype && !has_aligned_rows(weight)) return false;
  }
  return true;
}

namespace {

void run_quantised(Stream& stream, const MatmulArgs& args) {
  if (args.x.n_rows() == 0) return;
  if (run_quantised_row(stream, {args}) || run_quantised_few(stream, {args})) return;
  if (wide_gemm_serves(stream, DType::q8_0, args.x)) {
    const WideActivations x = halve_for_wide(stream, args.x, WideRounding::codes);
    for (const DType dtype : kBlockTypes) {
      if (has_rows_of(args, dtype)) wide_gemm(stream, {args}, dtype, x);
    }
    return;
  }
  // Weights of different block types share the rounded activations.
  std::optional<GemvActivations> few;
  std::optional<GemmActivations> many;
  const bool has_gemv = args.x.n_rows() <= kMostGemvTokens;
  for (const DType dtype : kBlockTypes) {
    if (!has_rows_of(args, dtype)) continue;
    if (has_gemv) {
      if (!few) few = quantise_for_gemv(stream, args.x);
      quantised_gemv(stream, args, dtype, *few);
    } else {
      if (!many) many = quantise_for_gemm(stream, args.x);
      quantised_gemm(stream, args, dtype, *many);
    }
  }
}

size_t quantised_scratch(const MatmulArgs& args, int) {
  const int64_t n_in = args.x.ne[0], n_tokens = args.x.n_rows();
  return std::max(quantised_scratch_bytes(n_in, n_tokens),
                  n_tokens > kMostAlikeTokens ? half_scratch_bytes(n_in, n_tokens) + widened_bytes(args) : 0);
}

void run_float(Stream& stream, const MatmulArgs& args) {
  if (args.x.n_rows() == 0) return;
  for (const DType dtype : kFloatTypes) {
    if (!has_rows_of(args, dtype)) continue;
    const bool has_order = has_one_order(stream, args.x.n_rows());
    const bool are_tiles = dtype == DType::f32 && !has_order && args.x.ne[0] < kFewestGemmValues;
    if (dtype == DType::f32 && !has_order && has_kept(args, dtype)) {
      wide_kept(stream, {args}, dtype, halve_for_wide(stream, args.x, WideRounding::with_rests));
    } else if (are_tiles || !has_aligned_rows(args, dtype)) {
      float_tiles(stream, args, dtype);
    } else if (dtype == DType::f32) {
      const auto run = has_order ? float_gemv : float_gemm;
      run(stream, args);
    } else if (half_gemv_serves(stream, args.x)) {
      half_gemv(stream, {args}, dtype);
    } else if (wide_gemm_serves(stream, dtype, args.x)) {
      wide_gemm(stream, {args}, dtype, halve_for_wide(stream, args.x, WideRounding::halves));
    } else if (half_few(stream, {args}, dtype)) {
      continue;
    } else if (half_many_serves(gpu_of(stream).compute_capability, args.x.n_rows())) {
      const ManyActivations x = many_activations_at(scratch_of(stream), args.x.ne[0]);
      halve_for_many(stream, args.x, dtype, x);
      half_many(stream, {args}, dtype, x);
    } else {
      half_gemm(stream, args, dtype, halve(stream, args.x, dtype));
    }
  }
}

size_t float_scratch(const MatmulArgs& args, int) {
  return half_scratch_bytes(args.x.ne[0], args.x.n_rows());
}

}  // namespace

void fill_matmul(OpTable& table) {
  for (const DType dtype : kBlockTypes) {
    table.matmul[static_cast<size_t>(dtype)] = {run_quantised, quantised_scratch};
  }
  for (const DType dtype : kFloatTypes) table.matmul[static_cast<size_t>(dtype)] = {run_float, float_scratch};
}

}  // namespace parlance::cuda
