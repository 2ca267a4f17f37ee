// What the kernels for many tokens leave of a segment: as partial result, or with the segments before it.
#pragma once

#include "kernels/cuda/attention/fold.cuh"

namespace parlance::cuda::attention {

// What a lane has of two rows of a warp's sixteen, `lane / 4` and the eighth behind it, of their segments so
// far. Whole rows are put together where the result goes; of rows that several blocks share, segments are
// left for run_merge().
template <int kHeadDim>
class RowsOfSegments {
 public:
  __device__ RowsOfSegments() : largest_{kLowest, kLowest}, sum_{0, 0} {}

  // The next segment of row `half` of the two: of a token's head. `sum` is the lane's part of it.
  __device__ void add(const Params& p, int half, bool exists, int token, int head, const TokenRun& run,
                      int segment, float largest, float sum, const float (&values)[kHeadDim / 8][4]) {
    for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (!exists) return;
    const int in_row = 2 * (threadIdx.x % 4);
    if (is_split(p, run)) {
      const int64_t index = partial_row(p, token, head, segment);
      float* out = p.partials.out + index * kHeadDim + in_row;
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(out + 8 * i) = make_float2(values[i][2 * half], values[i][2 * half + 1]);
      if (in_row == 0) p.partials.stats[index] = make_float2(largest, sum);
      return;
    }
    const bool is_first = segment == 0, is_last = segment + 1 == run.n_segments();
    const Fold fold(largest_[half], largest);
    largest_[half] = fold.largest;
    sum_[half] = fold(sum_[half], sum);
    const int64_t index = static_cast<int64_t>(token) * p.n_head + head;
    if (is_last && p.stats && in_row == 0) p.stats[index] = make_float2(fold.largest, sum_[half]);
    float* out = p.out + index * kHeadDim + in_row;
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
      float2 so_far = is_first ? float2{} : *reinterpret_cast<const float2*>(out + 8 * i);
      so_far = make_float2(fold(so_far.x, values[i][2 * half]), fold(so_far.y, values[i][2 * half + 1]));
      if (is_last && !p.stats)
        so_far = make_float2(finish(so_far.x, sum_[half]), finish(so_far.y, sum_[half]));
      *reinterpret_cast<float2*>(out + 8 * i) = so_far;
    }
  }

 private:
  float largest_[2], sum_[2];
};

}  // namespace parlance::cuda::attention
