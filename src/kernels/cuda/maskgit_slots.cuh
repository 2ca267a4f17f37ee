// What the kernels of MaskGIT's decisions share: what they are given, the noise of tts/gumbel.h, and sums
// over a block's threads.
#pragma once

#include "kernels/block_step.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::maskgit {

inline constexpr int kThreads = 128;
inline constexpr int kWarps = kThreads / 32;

// What is known of a masked slot's log-probabilities: logits become these with the sums.
struct SlotSums {
  float best, conditional, unconditional, mixed;
};

struct Decision {
  // (n_vocab, n_codebook, n_frames) each; the other one is null without guidance.
  const float *conditional, *unconditional;
  int32_t* codes;  // (n_columns, n_codebook)
  MaskGitMove* move;
  const BlockMove* block;  // what a block's step is told beside; null: none is
  // (n_frames, n_codebook): of masked slots how sure they are, and their codes; -1 where one is decided.
  float* scores;
  int32_t* choices;
  SlotSums* sums;  // null: nobody wants to know
  int n_codebook, n_frames, n_vocab, mask;
  int64_t n_columns;
  bool has_marginals;  // scores are not finished then, but log-probabilities

  __device__ int32_t& code_of(int codebook, int frame) const {
    return codes[codebook * n_columns + n_columns - n_frames + frame];
  }
  __device__ bool is_masked(int codebook, int frame) const {
    return code_of(codebook, frame) == codebook * n_vocab + mask;
  }
  // That a slot's noise is drawn by.
  __device__ int64_t element(int codebook, int frame) const {
    return block ? static_cast<int64_t>(codebook) * block->n_frames + block->first_frame + frame
                 : static_cast<int64_t>(codebook) * n_frames + frame;
  }
};

// Kernels of maskgit_step.cu: `scores`, `choices` and `sums`; then codes of the slots that are chosen.
void score_all(Stream& stream, const Decision& p);
void decide_chosen(Stream& stream, const Decision& p);

// Philox 4x32-10 (tts/philox.h): in (0, 1].
__device__ inline float philox_uniform(uint64_t seed, uint64_t call, uint64_t element) {
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

__device__ inline float gumbel_score(float value, float temperature, uint64_t seed, uint64_t call,
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
__device__ inline float largest_of_block(float value) {
  return join_block(value, [](float a, float b) { return fmaxf(a, b); });
}
__device__ inline float sum_of_block(float value) {
  return join_block(value, [](float a, float b) { return a + b; });
}

// A slot's score, from how likely its code is.
__device__ inline float finished_score(const Decision& p, int codebook, int frame, float likely) {
  const MaskGitMove& move = *p.move;
  const float score = __fsub_rn(likely, __fmul_rn(static_cast<float>(codebook), move.layer_penalty));
  return move.position_temperature == 0 ? score
                                        : gumbel_score(score, move.position_temperature, move.seed,
                                                       move.position_call, p.element(codebook, frame));
}

}  // namespace parlance::cuda::maskgit
