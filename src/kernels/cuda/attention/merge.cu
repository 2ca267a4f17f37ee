// Puts the splits of attention together: one block for each head of each token.
#include "kernels/cuda/attention/walk.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kThreads = 128;

__global__ void merge_splits(const __grid_constant__ Params p) {
  __shared__ float weights[kMaxSplits];
  wait_for_previous();
  let_next_start();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * p.n_head + blockIdx.y;
  const float2* stats = p.partials.stats + row * p.n_splits;
  float largest = kLowest;
  for (int split = threadIdx.x % 32; split < p.n_splits; split += 32)
    largest = fmaxf(largest, stats[split].x);
  largest = max_of_warp(largest);
  float sum = 0;
  for (int split = threadIdx.x % 32; split < p.n_splits; split += 32) {
    const float2 stat = stats[split];
    const float weight = stat.y > 0 ? exp2f(stat.x - largest) : 0.0f;
    sum += weight * stat.y;
    if (threadIdx.x < 32) weights[split] = weight;
  }
  const float inverse = 1 / sum_of_warp(sum);
  __syncthreads();
  const float* parts = p.partials.out + row * p.n_splits * p.head_dim_v;
  for (int i = threadIdx.x; i < p.head_dim_v; i += kThreads) {
    float out = 0;
#pragma unroll 8
    for (int split = 0; split < p.n_splits; ++split) {
      // What a split that saw nothing left there is not a number to count on.
      if (weights[split] > 0) out += weights[split] * parts[static_cast<int64_t>(split) * p.head_dim_v + i];
    }
    p.out[row * p.head_dim_v + i] = out * inverse;
  }
}

}  // namespace

void run_merge(Stream& stream, const Params& params) {
  const dim3 grid(static_cast<unsigned>(params.n_tokens), static_cast<unsigned>(params.n_head));
  launch(stream, merge_splits, {.grid = grid, .block = dim3(kThreads)}, params);
}

}  // namespace parlance::cuda::attention
