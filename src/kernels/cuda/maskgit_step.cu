// maskgit_step on CUDA: a block finds what a masked slot would become and how sure that is, then a few
// threads for each slot count those that come before it. The arithmetic is that of tts/maskgit.cpp, which is
// the definition.
#include <cfloat>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr float kClassRatio = 0.1f;  // with a class temperature, the part of the codes that may be drawn

struct Decision {
  const float* logits;  // (n_vocab, n_codebook, n_frames), and so much again with guidance
  int32_t* codes;       // (n_columns, n_codebook)
  MaskGitMove* move;
  // (n_frames, n_codebook): of masked slots how sure they are, and their codes; -1 where one is decided.
  float* scores;
  int32_t* choices;
  int n_codebook, n_frames, n_vocab, mask;
  int64_t n_columns;

  __device__ int32_t& code_of(int codebook, int frame) const {
    return codes[codebook * n_columns + n_columns - n_frames + frame];
  }
};

// Philox 4x32-10 (tts/philox.h): in (0, 1].
__device__ float philox_uniform(uint64_t seed, uint64_t call, uint64_t element) {
  constexpr uint32_t kMultiplier0 = 0xd2511f53, kMultiplier1 = 0xcd9e8d57;
  constexpr uint32_t kIncrement0 = 0x9e3779b9, kIncrement1 = 0xbb67ae85;
  uint32_t counter[4] = {static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32),
                         static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32)};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(kMultiplier0, counter[0]), low0 = kMultiplier0 * counter[0];
    const uint32_t high1 = __umulhi(kMultiplier1, counter[2]), low1 = kMultiplier1 * counter[2];
    const uint32_t next[4] = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0};
    for (int i = 0; i < 4; ++i) counter[i] = next[i];
    key[0] += kIncrement0;
    key[1] += kIncrement1;
  }
  return __fmul_rn(__fadd_rn(static_cast<float>(counter[0]), 0.5f), 0x1p-32f);
}

__device__ float gumbel_score(float value, float temperature, uint64_t seed, uint64_t call,
                              uint64_t element) {
  constexpr float kTiny = 1e-10f;
  const float u = philox_uniform(seed, call, element);
  const float noise = -logf(__fadd_rn(-logf(__fadd_rn(u, kTiny)), kTiny));
  return __fadd_rn(__fmul_rn(value, __fdiv_rn(1, temperature)), noise);
}

// What all threads of the block get.
template <class Join>
__device__ float join_block(float value, const Join& join) {
  __shared__ float partial[kWarps];
  for (int distance = 16; distance > 0; distance /= 2)
    value = join(value, __shfl_xor_sync(kAllLanes, value, distance));
  __syncthreads();  // what was joined before is read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[0];
  for (int warp = 1; warp < kWarps; ++warp) value = join(value, partial[warp]);
  return value;
}
__device__ float largest_of_block(float value) {
  return join_block(value, [](float a, float b) { return fmaxf(a, b); });
}
__device__ float sum_of_block(float value) {
  return join_block(value, [](float a, float b) { return a + b; });
}

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
  if (p.code_of(codebook, frame) != codebook * p.n_vocab + p.mask) {
    if (threadIdx.x == 0) p.choices[slot] = -1;
    return;
  }
  const MaskGitMove& move = *p.move;
  const int64_t n_logits = static_cast<int64_t>(p.n_codebook) * p.n_vocab;
  const float* const cond = p.logits + frame * n_logits + codebook * p.n_vocab;
  if (move.guidance != 0) {
    const float* const uncond = cond + p.n_frames * n_logits;
    const float cond_sum = log_sum_exp(p.n_vocab, [&](int i) { return cond[i]; });
    const float uncond_sum = log_sum_exp(p.n_vocab, [&](int i) { return uncond[i]; });
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
    const uint32_t least = smallest_kept(log_probs, p.n_vocab, min(max(n_kept, 1), p.n_vocab));
    for (int i = threadIdx.x; i < p.n_vocab; i += kThreads) {
      log_probs[i] = ordered(log_probs[i]) < least ? -INFINITY
                                                   : gumbel_score(log_probs[i], move.class_temperature,
                                                                  move.seed, move.class_calls + slot, i);
    }
    choice = index_of_largest(p.n_vocab, [&](int i) { return log_probs[i]; });
  }
  if (threadIdx.x != 0) return;
  float score = __fsub_rn(best, __fmul_rn(static_cast<float>(codebook), move.layer_penalty));
  if (move.position_temperature != 0)
    score = gumbel_score(score, move.position_temperature, move.seed, move.position_call, slot);
  p.scores[slot] = score;
  p.choices[slot] = choice;
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

int64_t n_slots_of(const MaskGitStepArgs& args) {
  return args.codes.ne[1] * args.logits.ne[1];
}

size_t maskgit_scratch(const MaskGitStepArgs& args, int) {
  return static_cast<size_t>(n_slots_of(args)) * (sizeof(float) + sizeof(int32_t));
}

void run_maskgit_step(Stream& stream, const MaskGitStepArgs& args) {
  const int64_t n_codebook = args.codes.ne[1];
  auto* const scores = reinterpret_cast<float*>(scratch_of(stream));
  Decision p{
      .logits = args.logits.as<const float>(),
      .codes = args.codes.as<int32_t>(),
      .move = args.move.as<MaskGitMove>(),
      .scores = scores,
      .choices = reinterpret_cast<int32_t*>(scores + n_slots_of(args)),
      .n_codebook = static_cast<int>(n_codebook),
      .n_frames = static_cast<int>(args.logits.ne[1]),
      .n_vocab = static_cast<int>(args.logits.ne[0] / n_codebook),
      .mask = args.mask,
      .n_columns = args.codes.ne[0],
  };
  launch(stream, score_slots,
         {.grid = dim3(static_cast<unsigned>(p.n_frames), static_cast<unsigned>(n_codebook)),
          .block = dim3(kThreads),
          .shared_bytes = static_cast<size_t>(p.n_vocab) * sizeof(float)},
         p);
  const int n_slots = p.n_codebook * p.n_frames;
  launch(stream, decide_slots,
         {.grid = dim3(static_cast<unsigned>((n_slots + kSlots - 1) / kSlots)), .block = dim3(kThreads)}, p);
}

}  // namespace

void fill_maskgit_step(OpTable& table) {
  table.maskgit_step = {run_maskgit_step, maskgit_scratch};
}

}  // namespace parlance::cuda
