// maskgit_step on CUDA: a block finds what a masked slot would become and how sure that is, then a few
// threads for each slot count those that come before it. The arithmetic is that of tts/maskgit.cpp, which is
// the definition.
#include <cfloat>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/maskgit_slots.cuh"

namespace parlance::cuda {

namespace maskgit {

namespace {

constexpr float kClassRatio = 0.1f;  // with a class temperature, the part of the codes that may be drawn

// log of the sum of exp(load(i)) for i below n.
template <class Load>
__device__ float log_sum_exp(int n, const Load& load) {
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) largest = fmaxf(largest, load(i));
  largest = largest_of_block(largest);
  for (int i = threadIdx.x; i < n; i += kThreads) sum += expf(load(i) - largest);
  return largest + logf(sum_of_block(sum));
}

// The smallest index below n whose value is the largest; 0 where all are minus infinity.
template <class Load>
__device__ int index_of_largest(int n, const Load& load) {
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < n; i += kThreads) largest = fmaxf(largest, load(i));
  largest = largest_of_block(largest);
  int first = n;
  for (int i = threadIdx.x; i < n && first == n; i += kThreads) {
    if (load(i) == largest) first = i;
  }
  // Vocabularies are small enough that a float counts them.
  const auto index =
      static_cast<int>(join_block(static_cast<float>(first), [](float a, float b) { return fminf(a, b); }));
  return largest == -INFINITY || index == n ? 0 : index;
}

// Floats in their order.
__device__ uint32_t ordered(float value) {
  const auto bits = __float_as_uint(value);
  return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

// The smallest of the n_kept largest of n values, in their order.
__device__ uint32_t smallest_kept(const float* values, int n, int n_kept) {
  uint32_t least = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    int count = 0;
    for (int i = threadIdx.x; i < n; i += kThreads) count += ordered(values[i]) >= (least | bit);
    if (static_cast<int>(sum_of_block(static_cast<float>(count))) >= n_kept) least |= bit;
  }
  return least;
}

__global__ void __launch_bounds__(kThreads) score_slots(const Decision p) {
  extern __shared__ float log_probs[];
  let_next_start();
  wait_for_previous();
  const int frame = blockIdx.x, codebook = blockIdx.y, slot = codebook * p.n_frames + frame;
  if (!p.is_masked(codebook, frame)) {
    if (threadIdx.x == 0) p.choices[slot] = -1;
    return;
  }
  const MaskGitMove& move = *p.move;
  const int64_t n_logits = static_cast<int64_t>(p.n_codebook) * p.n_vocab;
  const float* const cond = p.conditional + frame * n_logits + codebook * p.n_vocab;
  float cond_sum = 0, uncond_sum = 0;
  if (move.guidance != 0) {
    const float* const uncond = p.unconditional + frame * n_logits + codebook * p.n_vocab;
    cond_sum = log_sum_exp(p.n_vocab, [&](int i) { return cond[i]; });
    uncond_sum = log_sum_exp(p.n_vocab, [&](int i) { return uncond[i]; });
    for (int i = threadIdx.x; i < p.n_vocab; i += kThreads) {
      const float c = cond[i] - cond_sum, u = uncond[i] - uncond_sum;
      log_probs[i] = __fadd_rn(c, __fmul_rn(move.guidance, c - u));
    }
  } else {
    for (int i = threadIdx.x; i < p.n_vocab; i += kThreads) log_probs[i] = cond[i];
  }
  const float sum =
      log_sum_exp(p.n_vocab, [&](int i) { return log_probs[i]; });  // a thread reads what it wrote
  if (!isfinite(sum)) {
    if (threadIdx.x == 0) atomicMin(&p.move->fault, frame * p.n_codebook + codebook);
    return;
  }
  for (int i = threadIdx.x; i < p.n_vocab; i += kThreads)
    log_probs[i] = i == p.mask ? -INFINITY : log_probs[i] - sum;
  __syncthreads();

  int choice = index_of_largest(p.n_vocab, [&](int i) { return log_probs[i]; });
  const float best = log_probs[choice];
  if (move.class_temperature != 0) {
    const auto n_kept = static_cast<int>(ceilf(__fmul_rn(kClassRatio, static_cast<float>(p.n_vocab))));
    const uint64_t class_call = move.class_calls + p.element(codebook, frame);
    const uint32_t least = smallest_kept(log_probs, p.n_vocab, min(max(n_kept, 1), p.n_vocab));
    for (int i = threadIdx.x; i < p.n_vocab; i += kThreads) {
      log_probs[i] = ordered(log_probs[i]) < least
                         ? -INFINITY
                         : gumbel_score(log_probs[i], move.class_temperature, move.seed, class_call, i);
    }
    choice = index_of_largest(p.n_vocab, [&](int i) { return log_probs[i]; });
  }
  if (threadIdx.x != 0) return;
  p.scores[slot] = p.has_marginals ? best : finished_score(p, codebook, frame, best);
  p.choices[slot] = choice;
  if (p.sums) p.sums[slot] = {best, cond_sum, uncond_sum, sum};
}

// A slot is so many threads', which share those that it is compared with.
constexpr int kThreadsOfSlot = 8, kSlots = kThreads / kThreadsOfSlot;
__global__ void __launch_bounds__(kThreads) decide_slots(const Decision p) {
  __shared__ float scores[kThreads];
  __shared__ int choices[kThreads];
  let_next_start();
  wait_for_previous();
  if (p.move->fault != INT32_MAX) return;
  const int n_slots = p.n_codebook * p.n_frames, part = threadIdx.x % kThreadsOfSlot;
  const int slot = blockIdx.x * kSlots + threadIdx.x / kThreadsOfSlot;
  const bool is_masked = slot < n_slots && p.choices[slot] >= 0;
  const float own = is_masked ? p.scores[slot] : 0;
  int rank = 0;  // masked slots that are decided before this one
  for (int first = 0; first < n_slots; first += kThreads) {
    __syncthreads();
    if (first + static_cast<int>(threadIdx.x) < n_slots) {
      scores[threadIdx.x] = p.scores[first + threadIdx.x];
      choices[threadIdx.x] = p.choices[first + threadIdx.x];
    }
    __syncthreads();
    for (int i = part; i < min(kThreads, n_slots - first); i += kThreadsOfSlot)
      rank += choices[i] >= 0 && (scores[i] > own || (scores[i] == own && first + i < slot));
  }
  for (int mask = 1; mask < kThreadsOfSlot; mask *= 2) rank += __shfl_xor_sync(kAllLanes, rank, mask);
  if (part == 0 && is_masked && rank < p.move->n_chosen) {
    const int codebook = slot / p.n_frames;
    p.code_of(codebook, slot % p.n_frames) = codebook * p.n_vocab + p.choices[slot];
  }
}

}  // namespace

void score_all(Stream& stream, const Decision& p) {
  launch(stream, score_slots,
         {.grid = dim3(static_cast<unsigned>(p.n_frames), static_cast<unsigned>(p.n_codebook)),
          .block = dim3(kThreads),
          .shared_bytes = static_cast<size_t>(p.n_vocab) * sizeof(float)},
         p);
}

void decide_chosen(Stream& stream, const Decision& p) {
  const int n_slots = p.n_codebook * p.n_frames;
  launch(stream, decide_slots,
         {.grid = dim3(static_cast<unsigned>((n_slots + kSlots - 1) / kSlots)), .block = dim3(kThreads)}, p);
}

}  // namespace maskgit

namespace {

int64_t n_slots_of(const MaskGitStepArgs& args) {
  return args.codes.ne[1] * args.logits.ne[1];
}

size_t maskgit_scratch(const MaskGitStepArgs& args, int) {
  return static_cast<size_t>(n_slots_of(args)) * (sizeof(float) + sizeof(int32_t));
}

void run_maskgit_step(Stream& stream, const MaskGitStepArgs& args) {
  const int64_t n_codebook = args.codes.ne[1];
  auto* const scores = reinterpret_cast<float*>(scratch_of(stream));
  const auto* const logits = args.logits.as<const float>();
  const maskgit::Decision p{
      .conditional = logits,
      .unconditional = logits + args.logits.ne[0] * args.logits.ne[1],
      .codes = args.codes.as<int32_t>(),
      .move = args.move.as<MaskGitMove>(),
      .block = nullptr,
      .scores = scores,
      .choices = reinterpret_cast<int32_t*>(scores + n_slots_of(args)),
      .sums = nullptr,
      .n_codebook = static_cast<int>(n_codebook),
      .n_frames = static_cast<int>(args.logits.ne[1]),
      .n_vocab = static_cast<int>(args.logits.ne[0] / n_codebook),
      .mask = args.mask,
      .n_columns = args.codes.ne[0],
      .has_marginals = false,
  };
  maskgit::score_all(stream, p);
  maskgit::decide_chosen(stream, p);
}

}  // namespace

void fill_maskgit_step(OpTable& table) {
  table.maskgit_step = {run_maskgit_step, maskgit_scratch};
}

}  // namespace parlance::cuda
