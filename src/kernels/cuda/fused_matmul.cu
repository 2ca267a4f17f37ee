// Products that are normalised, added up or gated on CUDA: by the kernels for one token or a few, by those of
// wide_gemm() for large pieces of a prompt, or where these have no code for the weights, by kernels of their
// own that leave in scratch memory what is no result.
#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/quantised_few.h"
#include "kernels/cuda/matmul/quantised_row.h"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr size_t kAlignment = 256;

const Cell<MatmulArgs>& plain_cell(const FusedMatmulArgs& args) {
  return op_table().matmul[static_cast<size_t>(args.products.w[0].weight.dtype)];
}

size_t floats_bytes(int64_t n) {
  return align_up(static_cast<size_t>(n) * sizeof(float), kAlignment);
}

size_t products_scratch(const FusedMatmulArgs& args) {
  return align_up(plain_cell(args).scratch(args.products, 1), kAlignment);
}

// Behind what the products need: the tokens under their norm, and products that are no results yet.
size_t scratch_bytes(const FusedMatmulArgs& args, int) {
  const int64_t n_tokens = args.products.x.n_rows();
  size_t bytes = products_scratch(args) + floats_bytes(args.products.x.n_elements());
  for (int i = 0; i < args.products.n_outputs; ++i)
    bytes += floats_bytes(args.products.w[static_cast<size_t>(i)].weight.n_rows() * n_tokens);
  return bytes;
}

// What is left to be done where x is normalised by a kernel of its own.
FusedMatmulArgs normalise(Stream& stream, const FusedMatmulArgs& args) {
  FusedMatmulArgs rest = args;
  if (!args.norm) return rest;
  rest.norm = {};
  rest.products.x.data = scratch_of(stream) + products_scratch(args);
  op_table().rms_norm.run(stream, {args.products.x, args.norm, rest.products.x, args.norm_eps});
  return rest;
}

// Products that are no results yet, into scratch memory.
FusedMatmulArgs to_room(Stream& stream, const FusedMatmulArgs& args) {
  FusedMatmulArgs plain = args;
  plain.end = MatmulEnd::store;
  const Tensor& out = args.products.out[0];
  std::byte* room = scratch_of(stream) + products_scratch(args) + floats_bytes(args.products.x.n_elements());
  for (int i = 0; i < args.products.n_outputs; ++i) {
    Tensor& product = plain.products.out[static_cast<size_t>(i)];
    product = out;
    product.data = room;
    room += floats_bytes(out.n_elements());
  }
  return plain;
}

// What is to become of them.
void finish(Stream& stream, const FusedMatmulArgs& args, const MatmulArgs& plain) {
  const Tensor& out = args.products.out[0];
  if (args.end == MatmulEnd::add) {
    op_table().add.run(stream, {out, plain.out[0]});
  } else {
    op_table().swiglu.run(stream, {plain.out[0], plain.out[1], out});
  }
}

// Of tokens that are normalised.
void run_apart(Stream& stream, const FusedMatmulArgs& args) {
  const auto& cell = plain_cell(args);
  if (args.end == MatmulEnd::store) return cell.run(stream, args.products);
  const FusedMatmulArgs plain = to_room(stream, args);
  cell.run(stream, plain.products);
  finish(stream, args, plain.products);
}

// The type of all weights, if they have one.
std::optional<DType> only_type(const MatmulArgs& args) {
  const DType type = args.w[0].weight.dtype;
  for (int i = 1; i < args.n_outputs; ++i) {
    if (args.w[static_cast<size_t>(i)].weight.dtype != type) return {};
  }
  return type;
}

// Of tokens that are normalised: adds up or gates on the way. False, and nothing done, where no kernel does.
bool run_to_end(Stream& stream, const FusedMatmulArgs& args) {
  const std::optional<DType> type = only_type(args.products);
  if (args.end == MatmulEnd::store || !type) return false;
  if (!has_rows_of(args.products, *type)) return true;
  if (*type == DType::f32 || std::ranges::count(kBlockTypes, *type) > 0 ||
      !has_aligned_rows(args.products, *type))
    return false;
  if (!half_gemv_serves(stream, args.products.x)) return half_few(stream, args, *type);
  half_gemv(stream, args, *type);
  return true;
}

// Whether all weights are wide_gemm()'s.
bool is_wide(Stream& stream, const MatmulArgs& args) {
  for (int i = 0; i < args.n_outputs; ++i) {
    const DType type = args.w[static_cast<size_t>(i)].weight.dtype;
    if (!wide_gemm_serves(stream, type, args.x) || (type == DType::f16 && !has_aligned_rows(args, type)))
      return false;
  }
  return true;
}

// The tokens are rounded in the same pass as they are normalised, once for all weights.
void run_wide(Stream& stream, const FusedMatmulArgs& args) {
  const bool are_blocks = args.products.w[0].weight.dtype != DType::f16;
  FusedMatmulArgs rest = args;
  if (args.norm && !normed_for_wide(args.products.x, args.norm)) rest = normalise(stream, args);
  const WideActivations x =
      halve_for_wide(stream, rest.products.x, are_blocks ? WideRounding::codes : WideRounding::halves,
                     rest.norm, args.norm_eps);
  rest.norm = {};
  if (rest.end == MatmulEnd::store) {
    for (const DType type : kBlockTypes) {
      if (has_rows_of(rest.products, type)) wide_gemm(stream, rest, type, x);
    }
    if (has_rows_of(rest.products, DType::f16)) wide_gemm(stream, rest, DType::f16, x);
    return;
  }
  const std::optional<DType> type = only_type(rest.products);
  if (type && (!has_rows_of(rest.products, *type) || wide_gemm(stream, rest, *type, x))) return;
  // Parts of products are added up before they are gated.
  FusedMatmulArgs plain = to_room(stream, rest);
  for (const DType dtype : kBlockTypes) {
    if (has_rows_of(plain.products, dtype)) wide_gemm(stream, plain, dtype, x);
  }
  if (has_rows_of(plain.products, DType::f16)) wide_gemm(stream, plain, DType::f16, x);
  finish(stream, rest, plain.products);
}

// Whether half_gemv() does all that there is to do.
bool is_normalised_by_gemv(Stream& stream, const FusedMatmulArgs& args) {
  const std::optional<DType> type = only_type(args.products);
  return args.norm && (type == DType::f16 || type == DType::bf16) && has_rows_of(args.products, *type) &&
         has_aligned_rows(args.products, *type) && half_gemv_normalises(stream, args.products.x, args.norm);
}

// Where half_many() does all that there is to do but for the norm, which its tokens are rounded under.
bool run_many(Stream& stream, const FusedMatmulArgs& args) {
  const std::optional<DType> type = only_type(args.products);
  const Tensor& x = args.products.x;
  if ((type != DType::f16 && type != DType::bf16) || !has_rows_of(args.products, *type) ||
      !has_aligned_rows(args.products, *type) ||
      !half_many_serves(gpu_of(stream).compute_capability, x.n_rows()))
    return false;
  const bool is_apart = args.norm && !halve_for_many_normalises(x, args.norm);
  const FusedMatmulArgs rest = is_apart ? normalise(stream, args) : args;
  const ManyActivations halved = many_activations_at(scratch_of(stream), x.ne[0]);
  halve_for_many(stream, rest.products.x, *type, halved, rest.norm, rest.norm_eps);
  half_many(stream, rest, *type, halved);
  return true;
}

// Blocks of the kernels for few tokens are many: that each normalises them takes longer than a kernel for it.
void run_normalised(Stream& stream, const FusedMatmulArgs& args) {
  if (args.products.x.n_rows() > 0 && is_wide(stream, args.products)) return run_wide(stream, args);
  if (is_normalised_by_gemv(stream, args)) return half_gemv(stream, args, args.products.w[0].weight.dtype);
  if (run_many(stream, args)) return;
  const FusedMatmulArgs rest = normalise(stream, args);
  if (!run_to_end(stream, rest)) run_apart(stream, rest);
}

void run_quantised(Stream& stream, const FusedMatmulArgs& args) {
  if (!run_quantised_row(stream, args) && !run_quantised_few(stream, args)) run_normalised(stream, args);
}

}  // namespace

const Cell<FusedMatmulArgs>& fused_matmul(DType weights) {
  static constexpr Cell<FusedMatmulArgs> kNone, kQuantised{run_quantised, scratch_bytes},
      kFloat{run_normalised, scratch_bytes};
  const auto is_among = [&](const auto& types) { return std::ranges::count(types, weights) > 0; };
  return is_among(kBlockTypes) ? kQuantised : is_among(kFloatTypes) ? kFloat : kNone;
}

}  // namespace parlance::cuda
