// A feed-forward network of some hundreds of rows, by weights that are kept as f16: the gates go from one
// product to the other as f16.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul/wide_kept.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

MatmulArgs gate_and_up(const FusedMlpArgs& args) {
  MatmulArgs products;
  products.x = args.h;
  products.n_outputs = 2;
  products.w[0] = args.gate;
  products.w[1] = args.up;
  return products;
}

// Bytes of scratch memory for h as f16; behind them are the gates.
size_t first_bytes(const FusedMlpArgs& args) {
  constexpr size_t kAlignment = 256;
  return align_up(half_scratch_bytes(args.h.ne[0], args.h.n_rows()), kAlignment);
}

void run_fused_mlp(Stream& stream, const FusedMlpArgs& args) {
  const WideActivations x = halve_for_wide(stream, args.h, WideRounding::codes, args.norm, args.norm_eps);
  const WideActivations gates =
      wide_activations_at(scratch_of(stream) + first_bytes(args), args.down.weight.ne[0], args.h.n_rows());
  FusedMatmulArgs gate{gate_and_up(args)};
  gate.end = MatmulEnd::gate;
  wide_kept(stream, gate, args.gate.weight.dtype, x, &gates);
  FusedMatmulArgs down;
  down.products.x = args.h;
  down.products.n_outputs = 1;
  down.products.w[0] = args.down;
  down.products.out[0] = args.h;
  down.end = MatmulEnd::add;
  wide_kept(stream, down, args.down.weight.dtype, gates);
}

size_t scratch_bytes(const FusedMlpArgs& args, int) {
  return first_bytes(args) + half_scratch_bytes(args.down.weight.ne[0], args.h.n_rows());
}

}  // namespace

const Cell<FusedMlpArgs>* fused_mlp(const Gpu& gpu, const FusedMlpArgs& args) {
  static constexpr Cell<FusedMlpArgs> kCell{run_fused_mlp, scratch_bytes};
  const auto is_kept = [](const Linear& linear) {
    return std::ranges::count(kBlockTypes, linear.weight.dtype) > 0 && !linear.bias &&
           kept_copy_of(linear.weight) != nullptr;
  };
  const bool are_many =
      args.h.n_rows() > kMostAlikeTokens && args.h.n_rows() < kFewestKeptMany && !gpu.is_deterministic;
  return are_many && is_kept(args.gate) && is_kept(args.up) && is_kept(args.down) &&
                 args.gate.weight.dtype == args.up.weight.dtype && normed_for_wide(args.h, args.norm)
             ? &kCell
             : nullptr;
}

}  // namespace parlance::cuda
