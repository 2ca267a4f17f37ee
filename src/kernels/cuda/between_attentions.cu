// What lies between the attentions of two layers, for many rows and weights that are kept as f16: where parts
// of products are added up to the residual stream, the norm and the rounding of what comes next are made,
// too, and where q, k and v end, what attention of segments makes of their heads.
#include "kernels/cuda/between_attentions.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/attention/segments_wide.h"
#include "kernels/cuda/between_products.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul/wide_kept.h"
#include "kernels/cuda/matmul/wide_kept_many.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr size_t kAlignment = 1024;  // of rounded heads

// h += w x, then rms_norm(h, norm), rounded.
WideActivations add_and_round(Stream& stream, const BetweenAttentionsArgs& args, const Linear& w,
                              const Tensor& x, const Tensor& norm) {
  return wide_gemm_rounded(stream, added_product(args.h, w, x), w.weight.dtype,
                           halve_for_wide(stream, x, WideRounding::codes), norm, args.norm_eps);
}

size_t products_scratch(const BetweenAttentionsArgs& args, int n_threads) {
  size_t bytes = 0;
  for (const FusedMatmulArgs& product :
       {added_product(args.h, args.o, args.y), gated_product(args),
        added_product(args.h, args.down, args.gates), FusedMatmulArgs{args.next}}) {
    bytes = std::max(bytes, fused_matmul(product.products.w[0].weight.dtype).scratch(product, n_threads));
  }
  return align_up(bytes, kAlignment);
}

// The next products, which become the rounded heads of their attention, and that. Heads lie behind what
// products need. False, and nothing done, where no kernel makes them of these.
bool multiply_and_attend(Stream& stream, const BetweenAttentionsArgs& args, const WideActivations& x) {
  if (!args.attention) return false;
  const SegmentAttentionArgs& attention = *args.attention;
  if (!attention::segments_wide_serves(stream, attention) || !attention::segments_wide_turns(attention))
    return false;
  const DType type = args.next.w[0].weight.dtype;
  const auto has_type = [&](const Linear& w) { return w.weight.dtype == type; };
  if (!std::all_of(args.next.w.begin(), args.next.w.begin() + args.next.n_outputs, has_type)) return false;
  const auto heads = attention::rounded_heads_at(scratch_of(stream) + products_scratch(args, 1), attention);
  if (!wide_kept_heads(stream, args.next, type, x, heads)) return false;
  attention::attend_rounded(stream, heads, attention.q.ne[2]);
  return true;
}

void run_between_attentions(Stream& stream, const BetweenAttentionsArgs& args) {
  FusedMatmulArgs gate = gated_product(args);
  const DType type = args.gate.weight.dtype;
  const WideActivations x = add_and_round(stream, args, args.o, args.y, args.mlp_norm);
  FusedMatmulArgs normed = gate;
  normed.norm = {};
  if (!wide_gemm(stream, normed, type, x)) fused_matmul(type).run(stream, gate);
  const WideActivations next = add_and_round(stream, args, args.down, args.gates, args.next_norm);
  if (multiply_and_attend(stream, args, next)) return;
  for (const DType of_next : kBlockTypes) {
    if (has_rows_of(args.next, of_next)) wide_gemm(stream, {args.next}, of_next, next);
  }
  if (args.attention) op_table().segment_attention.run(stream, *args.attention);
}

size_t scratch_bytes(const BetweenAttentionsArgs& args, int n_threads) {
  return products_scratch(args, n_threads) +
         (args.attention ? attention::rounded_heads_bytes(*args.attention) : 0);
}

}  // namespace

const Cell<BetweenAttentionsArgs>* between_attentions(const Gpu& gpu, const BetweenAttentionsArgs& args) {
  static constexpr Cell<BetweenAttentionsArgs> kCell{run_between_attentions, scratch_bytes};
  if (const auto* const of_answers = between_attentions_of_answers(gpu, args)) return of_answers;
  if (args.h.n_rows() < kFewestKeptMany || gpu.is_deterministic || !has_wide_kernels(gpu.compute_capability))
    return nullptr;
  const auto is_kept = [](const Linear& linear) {
    return std::ranges::count(kBlockTypes, linear.weight.dtype) > 0 && !linear.bias &&
           kept_copy_of(linear.weight) != nullptr;
  };
  const auto serves = [&](const Linear& w, const Tensor& norm) {
    return is_kept(w) && wide_gemm_rounds(args.h, w, norm);
  };
  const bool is_next_kept =
      std::all_of(args.next.w.begin(), args.next.w.begin() + args.next.n_outputs, is_kept);
  return is_next_kept && is_kept(args.gate) && is_kept(args.up) && serves(args.o, args.mlp_norm) &&
                 serves(args.down, args.next_norm) && args.gate.weight.dtype == args.up.weight.dtype
             ? &kCell
             : nullptr;
}

}  // namespace parlance::cuda
