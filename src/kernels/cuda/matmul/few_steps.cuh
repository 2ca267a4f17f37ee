// A few tokens on their way to shared memory. All warps of a block meet them in steps, which hold a unit for
// each of the warps that share a tile's parts. Where there is no room for all steps, the last warp that has
// released one has another copied to where it was, and all of them come again for each round of tiles.
#pragma once

#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/few_tokens.cuh"

namespace parlance::cuda {

inline constexpr int kMostFewSteps = 32;  // in shared memory

// Warps that have released a step. The last one sees what all have read.
struct Released {
  int n;

  // By one thread of a warp; as many as before.
  __device__ int add() {
    int before;
    asm volatile("atom.acq_rel.cta.shared::cta.add.s32 %0, [%1], 1;"
                 : "=r"(before)
                 : "r"(shared_address(&n))
                 : "memory");
    return before;
  }
};

// The same for all warps of a block.
struct TokenSteps {
  struct Counters {
    Arrivals there[kMostFewSteps];
    Released released[kMostFewSteps];
  };

  const FewTokens& tokens;
  int n_steps;     // of a round
  int first_unit;  // of the first step
  int end_unit;    // behind the block's last
  int n_units;     // of a step
  int unit_step;   // from one of them to the next
  int n_stages;    // steps that there is room for
  int n_warps;     // that release them
  int unit_bytes;
  uint8_t* memory;
  Counters& counters;

  // By as many threads as there is room for steps, before a barrier of the block.
  __device__ void init(int thread) const {
    if (thread >= n_stages) return;
    counters.there[thread].init(static_cast<unsigned>(n_units));
    counters.released[thread].n = 0;
  }
  // Whether a step stays until the block ends.
  __device__ bool are_kept() const { return n_steps <= n_stages; }
  // When the tokens have been rounded: unit i of the first steps, of every stride-th from first_step on, by a
  // warp. All of them would take a thread long.
  __device__ void start(int i, int first_step, int stride) const {
    for (int step = first_step; step < min(n_steps, n_stages); step += stride)
      if (is_elected()) bring(step, step, i);
  }
  // By one thread.
  __device__ void bring(int step, int stage) const {
    for (int i = 0; i < n_units; ++i) bring(step, stage, i);
  }
  __device__ void bring(int step, int stage, int i) const {
    const int unit = first_unit + i * unit_step + step;
    Arrivals& there = counters.there[stage];
    if (unit < end_unit)
      there.arrive_with(at(stage, i), tokens.unit(unit), static_cast<uint32_t>(unit_bytes));
    else
      there.arrive();
  }
  __device__ uint8_t* at(int stage, int i) const { return memory + (stage * n_units + i) * unit_bytes; }
};

// A warp on its way through the steps of all rounds.
class TakenSteps {
 public:
  __device__ TakenSteps(const TokenSteps& steps, int n_rounds)
      : steps_(steps), n_left_(n_rounds * steps.n_steps) {}

  // Unit i of the next step, when it is there.
  __device__ const uint8_t* wait(int i) {
    steps_.counters.there[stage_].wait(phase_);
    return steps_.at(stage_, i);
  }
  __device__ void release() {
    if (steps_.are_kept()) {
      if (++stage_ == steps_.n_steps) stage_ = 0;
      return;
    }
    __syncwarp();
    if (n_left_ > steps_.n_stages && is_elected()) refill();
    --n_left_;
    if (++step_ == steps_.n_steps) step_ = 0;
    if (++stage_ == steps_.n_stages) stage_ = 0, ++phase_;
  }

 private:
  __device__ void refill() {
    if (steps_.counters.released[stage_].add() + 1 < steps_.n_warps) return;
    steps_.counters.released[stage_].n = 0;
    const int step = step_ + steps_.n_stages;
    steps_.bring(step < steps_.n_steps ? step : step - steps_.n_steps, stage_);
  }

  const TokenSteps& steps_;
  int n_left_;  // steps of all rounds that have not been released
  int step_ = 0, stage_ = 0, phase_ = 0;
};

}  // namespace parlance::cuda
