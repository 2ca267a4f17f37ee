// What the kernels for answers do with a segment: its four quarters, a warp's each, become one, which is left
// as partial result or joins those before it.
#pragma once

#include "kernels/cuda/attention/fold.cuh"

namespace parlance::cuda::attention {

inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeWarps = kDecodeThreads / 32;

// What warps have of a segment, in shared memory. The next one goes to the other half while this one is added
// up.
template <int kHeads, int kHeadDim>
struct Quarters {
  alignas(16) float out[2][kDecodeWarps][kHeads][kHeadDim];
  float2 stats[2][kDecodeWarps][kHeads];  // largest score, sum of weights
};

// The keys of a segment that one warp works on, step by step.
struct WarpKeys {
  int per_warp;  // of a segment
  int n_keys;    // of the row
  int warp;

  __device__ int first(int segment) const { return (segment * kDecodeWarps + warp) * per_warp; }
  // Steps of `at_once` keys; past the row's last key there is nothing to do.
  __device__ int n_steps(int segment, int at_once) const {
    const int n = min(per_warp, n_keys - first(segment));
    return (max(n, 0) + at_once - 1) / at_once;
  }
};

// Of the whole rows of a token, a thread has a few values of one head.
template <int kHeads, int kHeadDim>
class RowsSoFar {
  static constexpr int kOwn = kHeads * kHeadDim / kDecodeThreads, kHeadThreads = kHeadDim / kOwn;

 public:
  __device__ RowsSoFar(const Params& p, int token, int first_head, int n_heads, bool is_shared)
      : p_(p),
        token_(token),
        head_(first_head + static_cast<int>(threadIdx.x) / kHeadThreads),
        has_head_(static_cast<int>(threadIdx.x) / kHeadThreads < n_heads),
        is_shared_(is_shared) {}

  // When all warps have left what they have in this half.
  __device__ void add(const Quarters<kHeads, kHeadDim>& quarters, int half, int segment) {
    const int head = threadIdx.x / kHeadThreads, first = threadIdx.x % kHeadThreads * kOwn;
    float largest = kLowest, sum = 0, out[kOwn] = {};
#pragma unroll
    for (int w = 0; w < kDecodeWarps; ++w) largest = fmaxf(largest, quarters.stats[half][w][head].x);
#pragma unroll
    for (int w = 0; w < kDecodeWarps; ++w) {
      const float2 stats = quarters.stats[half][w][head];
      const float weight = exp2f(stats.x - largest);
      sum = fmaf(weight, stats.y, sum);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) out[i] = fmaf(weight, quarters.out[half][w][head][first + i], out[i]);
    }
    if (is_shared_) {
      if (!has_head_) return;
      const int64_t row = partial_row(p_, token_, head_, segment);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) p_.partials.out[row * kHeadDim + first + i] = out[i];
      if (first == 0) p_.partials.stats[row] = make_float2(largest, sum);
      return;
    }
    const Fold fold(largest_, largest);
    largest_ = fold.largest;
    sum_ = fold(sum_, sum);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) out_[i] = fold(out_[i], out[i]);
  }

  __device__ void store() const {
    if (is_shared_ || !has_head_) return;
    const int first = threadIdx.x % kHeadThreads * kOwn;
    float* out = p_.out + (static_cast<int64_t>(token_) * p_.n_head + head_) * kHeadDim + first;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) out[i] = finish(out_[i], sum_);
  }

 private:
  const Params& p_;
  int token_;
  int head_;
  bool has_head_;
  bool is_shared_;
  float largest_ = kLowest, sum_ = 0, out_[kOwn] = {};
};

}  // namespace parlance::cuda::attention
