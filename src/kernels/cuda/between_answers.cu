// What lies between the attentions of two layers for many answers and f16 or bf16 weights: where parts of
// products are added up to the residual stream, the norm and the rounding of what comes next are made, too.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/between_attentions.h"
#include "kernels/cuda/between_products.h"
#include "kernels/cuda/matmul/half_many.h"

namespace parlance::cuda {

namespace {

constexpr size_t kAlignment = 256;

// Where tokens lie in scratch memory; behind the longest ones, sums of parts.
size_t tokens_bytes(const BetweenAttentionsArgs& args) {
  const auto bytes_of = [](const Linear& w) { return many_activation_bytes(w.weight.ne[0]); };
  return align_up(std::max({bytes_of(args.o), bytes_of(args.gate), bytes_of(args.down)}), kAlignment);
}

class Rows {
 public:
  Rows(Stream& stream, const BetweenAttentionsArgs& args)
      : stream_(stream), args_(args), type_(args.gate.weight.dtype), tokens_bytes_(tokens_bytes(args)) {}

  // h += w x, then rms_norm(h, norm), rounded.
  ManyActivations add_and_round(const Linear& w, const Tensor& x, const Tensor& norm) const {
    const ManyActivations of_x = room_of(x.ne[0]), of_h = room_of(args_.h.ne[0]);
    halve_for_many(stream_, x, type_, of_x);
    const ManyParts parts = half_many_parts(stream_, added_product(args_.h, w, x), type_, of_x);
    if (parts.sums) {
      add_and_halve_for_many(stream_, args_.h, parts, w.bias, type_, of_h, norm, args_.norm_eps);
    } else {
      halve_for_many(stream_, args_.h, type_, of_h, norm, args_.norm_eps);
    }
    return of_h;
  }
  void multiply(const FusedMatmulArgs& args, const ManyActivations& x) const {
    half_many(stream_, args, type_, x);
  }

 private:
  ManyActivations room_of(int64_t n_values) const {
    ManyActivations room = many_activations_at(scratch_of(stream_), n_values);
    room.part_sums = reinterpret_cast<float*>(scratch_of(stream_) + tokens_bytes_);
    return room;
  }

  Stream& stream_;
  const BetweenAttentionsArgs& args_;
  const DType type_;
  const size_t tokens_bytes_;
};

void run(Stream& stream, const BetweenAttentionsArgs& args) {
  const Rows rows(stream, args);
  rows.multiply(gated_product(args), rows.add_and_round(args.o, args.y, args.mlp_norm));
  rows.multiply({args.next}, rows.add_and_round(args.down, args.gates, args.next_norm));
}

size_t scratch_bytes(const BetweenAttentionsArgs& args, int) {
  return tokens_bytes(args) + kMaxPartSums * sizeof(float);
}

}  // namespace

const Cell<BetweenAttentionsArgs>* between_attentions_of_answers(const Gpu& gpu,
                                                                 const BetweenAttentionsArgs& args) {
  static constexpr Cell<BetweenAttentionsArgs> kCell{run, scratch_bytes};
  const DType type = args.gate.weight.dtype;
  if (!half_many_serves(gpu.compute_capability, args.h.n_rows()) || args.attention ||
      (type != DType::f16 && type != DType::bf16))
    return nullptr;
  const auto serves = [&](const Linear& w) {
    return w.weight.dtype == type && w.weight.n_rows() > 0 && has_aligned_rows(w.weight) &&
           is_aligned(w.bias);
  };
  const auto normalises = [&](const Tensor& norm) { return halve_for_many_normalises(args.h, norm); };
  return serves(args.o) && serves(args.gate) && serves(args.up) && serves(args.down) &&
                 std::all_of(args.next.w.begin(), args.next.w.begin() + args.next.n_outputs, serves) &&
                 normalises(args.mlp_norm) && normalises(args.next_norm)
             ? &kCell
             : nullptr;
}

}  // namespace parlance::cuda
