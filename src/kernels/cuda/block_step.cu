// block_step on CUDA: the kernels of maskgit_step, with one that takes from a slot's score how likely its
// code is in the block at large, and one that ends the block where the rest is sure. The arithmetic is that
// of tts/block_maskgit.cpp, which is the definition, but for the order of sums.
#include "kernels/cuda/block_step.h"

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/maskgit_slots.cuh"

namespace parlance::cuda {

namespace {

using namespace maskgit;

constexpr float kLeastMarginal = 1e-6f;

// A block for each slot; its threads share the frames of the codebook.
__global__ void __launch_bounds__(kThreads) subtract_marginals(const Decision p) {
  let_next_start();
  wait_for_previous();
  const int frame = blockIdx.x, codebook = blockIdx.y, first = codebook * p.n_frames, slot = first + frame;
  const int choice = p.choices[slot];
  if (choice < 0 || p.move->fault != INT32_MAX) return;
  const float guidance = p.move->guidance;
  float sum = 0, n = 0;
  for (int t = threadIdx.x; t < p.n_frames; t += kThreads) {
    if (p.choices[first + t] < 0) continue;
    const int64_t at = (static_cast<int64_t>(t) * p.n_codebook + codebook) * p.n_vocab + choice;
    const SlotSums sums = p.sums[first + t];
    float value = p.conditional[at];
    if (guidance != 0) {
      const float c = value - sums.conditional, u = p.unconditional[at] - sums.unconditional;
      value = __fadd_rn(c, __fmul_rn(guidance, c - u));
    }
    sum += expf(value - sums.mixed);
    n += 1;
  }
  sum = sum_of_block(sum);
  n = sum_of_block(n);
  if (threadIdx.x != 0) return;
  const float share = fmaxf(__fdiv_rn(sum, n), kLeastMarginal);
  const float likely = __fsub_rn(p.sums[slot].best, __fmul_rn(p.block->marginal, logf(share)));
  p.scores[slot] = finished_score(p, codebook, frame, likely);
}

// One block: decides what is left where that is right with the probability that is asked for.
__global__ void __launch_bounds__(kThreads) end_if_sure(const Decision p) {
  let_next_start();
  wait_for_previous();
  if (p.move->fault != INT32_MAX) return;
  float right = 0, all = 0;
  const auto for_each_left = [&](const auto& visit) {
    for (int slot = threadIdx.x; slot < p.n_codebook * p.n_frames; slot += kThreads) {
      const int codebook = slot / p.n_frames, frame = slot % p.n_frames;
      if (p.choices[slot] >= 0 && p.is_masked(codebook, frame)) visit(slot, codebook, frame);
    }
  };
  for_each_left([&](int slot, int codebook, int) {
    const float weight = 1.0f / static_cast<float>(1 + codebook);
    right += weight * expf(p.sums[slot].best);
    all += weight;
  });
  right = sum_of_block(right);
  all = sum_of_block(all);
  if (!(right >= p.block->confidence * all)) return;
  for_each_left([&](int slot, int codebook, int frame) {
    p.code_of(codebook, frame) = codebook * p.n_vocab + p.choices[slot];
  });
}

size_t n_slots_of(const BlockStepArgs& args) {
  return static_cast<size_t>(args.codes.n_elements());
}

size_t scratch_bytes(const BlockStepArgs& args, int) {
  return n_slots_of(args) * (sizeof(SlotSums) + sizeof(float) + sizeof(int32_t));
}

void run_block_step(Stream& stream, const BlockStepArgs& args) {
  const int64_t n_codebook = args.codes.ne[1];
  auto* const sums = reinterpret_cast<SlotSums*>(scratch_of(stream));
  auto* const scores = reinterpret_cast<float*>(sums + n_slots_of(args));
  auto* const move = args.move.as<BlockMove>();
  const Decision p{
      .conditional = args.conditional.as<const float>(),
      .unconditional = args.unconditional ? args.unconditional.as<const float>() : nullptr,
      .codes = args.codes.as<int32_t>(),
      .move = &move->step,
      .block = move,
      .scores = scores,
      .choices = reinterpret_cast<int32_t*>(scores + n_slots_of(args)),
      .sums = sums,
      .n_codebook = static_cast<int>(n_codebook),
      .n_frames = static_cast<int>(args.codes.ne[0]),
      .n_vocab = static_cast<int>(args.conditional.ne[0] / n_codebook),
      .mask = args.mask,
      .n_columns = args.codes.ne[0],
      .has_marginals = args.has_marginals,
  };
  score_all(stream, p);
  if (args.has_marginals) {
    launch(stream, subtract_marginals,
           {.grid = dim3(static_cast<unsigned>(p.n_frames), static_cast<unsigned>(p.n_codebook)),
            .block = dim3(kThreads)},
           p);
  }
  decide_chosen(stream, p);
  if (args.may_end) launch(stream, end_if_sure, {.grid = dim3(1), .block = dim3(kThreads)}, p);
}

}  // namespace

const Cell<BlockStepArgs>& block_step() {
  static constexpr Cell<BlockStepArgs> kCell{run_block_step, scratch_bytes};
  return kCell;
}

}  // namespace parlance::cuda
