// Up to eight rows of a warp against blocks of sixteen keys on tensor cores, with the bits that warp_rows.cuh
// gives them and half of its products: what rounding the queries left out takes the place of eight more rows,
// and rows are the columns that values are multiplied with.
#pragma once

#include "kernels/cuda/attention/warp_rows.cuh"

namespace parlance::cuda::attention {

// With lane = 4 * g + i (i below 4), a lane has the scores of row g for keys 2 * i, 2 * i + 1 and those eight
// further, and of rows 2 * i and 2 * i + 1 the values g and g + 8 of each sixteen.
template <class Half, int kHeadDim>
class HeadRows {
  static constexpr int kKeys = 16, kTiles = kHeadDim / 16;
  static constexpr int kStride = kHeadDim + 8;  // of a block's rows

 public:
  __device__ HeadRows() {
#pragma unroll
    for (int step = 0; step < kTiles; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) q_[step][i] = 0;
    }
  }

  __device__ static int row() {
    return lane() / 4;
  }

  // row() is that of a query, or absent.
  __device__ void start(const float* query, float scale, int n_visible, bool is_present) {
    const float* of_lane = query + 2 * (lane() % 4);
#pragma unroll
    for (int step = 0; step < kTiles; ++step) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const float* two = of_lane + step * 16 + side * 8;
        const float x = is_present ? two[0] * scale : 0.0f;
        const float y = is_present ? two[1] * scale : 0.0f;
        split<Half>(x, y, q_[step][2 * side], q_[step][2 * side + 1]);
      }
    }
    visible_ = n_visible;
  }

  // A query that a warp has left by leave_query(), for those whose row it is.
  struct SplitQuery {
    static constexpr int kApart = 4;  // keeps what a warp loads of eight rows out of each other's banks
    uint4 words[kTiles * 4 + kApart];
  };
  __device__ void start(const SplitQuery& query, int n_visible) {
#pragma unroll
    for (int step = 0; step < kTiles; ++step) {
      const uint4 of_step = query.words[step * 4 + lane() % 4];
      q_[step][0] = of_step.x, q_[step][1] = of_step.y, q_[step][2] = of_step.z, q_[step][3] = of_step.w;
    }
    visible_ = n_visible;
  }
  // By a warp, whose lanes have the elements lane, lane + 32, ... of a query.
  __device__ static void leave_query(const float (&x)[kHeadDim / 32], float scale, SplitQuery& query) {
    auto* const halves = reinterpret_cast<Half*>(query.words);
    const int at = lane() / 16 * 32 + lane() % 8 / 2 * 8 + lane() / 8 % 2 * 4 + lane() % 2;
#pragma unroll
    for (int i = 0; i < kHeadDim / 32; ++i) {
      const float scaled = __fmul_rn(x[i], scale);
      const Half rounded(scaled);
      halves[64 * i + at] = rounded;
      halves[64 * i + at + 2] = Half(scaled - static_cast<float>(rounded));
    }
  }

  __device__ void start_segment() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out_[tile][j] = 0;
    }
    largest_ = kLowest, sum_ = 0;
  }

  // Keys from `first` on.
  __device__ void add(const Block<Half, kHeadDim, kKeys>& block, int first, int end) {
    float scores[2][2];
    multiply_keys(block.k[0], scores);
    // On their way while the scores become weights.
    uint32_t values[kTiles][4];
    const Half* const mine = block.v[0] + offset_of_matrix();
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) load_transposed(values[tile], mine + tile * 16);
    turn_into_weights(scores, first, end);
    add_values(values, scores);
  }

  // What a segment's keys have yielded for the first kRows rows; first_row is 0.
  template <int kRows>
  __device__ void leave(float (&out)[kRows][kStride], float2 (&stats)[kRows], int /*first_row*/) const {
    float sum = sum_;
    for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (lane() % 4 == 0 && row() < kRows) stats[row()] = make_float2(largest_, sum);
    const int head = 2 * (lane() % 4), at = lane() / 4;
    if (head >= kRows) return;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out[head + j % 2][tile * 16 + j / 2 * 8 + at] = out_[tile][j];
    }
  }

 private:
  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }
  // Of the row of a block's sixteen times sixteen elements for which this lane gives the address: matrices of
  // the first eight keys, then of the others; of each, the first eight elements, then the others.
  __device__ static int offset_of_matrix() {
    return (lane() / 16 * 8 + lane() % 8) * kStride + lane() / 8 % 2 * 8;
  }

  __device__ void multiply_keys(const Half* block, float (&scores)[2][2]) const {
    float sums[2][4] = {};
    const Half* const mine = block + offset_of_matrix();
#pragma unroll
    for (int step = 0; step < kTiles; ++step) {
      uint32_t k[4];
      load_matrices(k, mine + step * 16);
      multiply_add<Half>(sums[0], q_[step], k[0], k[1]);
      multiply_add<Half>(sums[1], q_[step], k[2], k[3]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) scores[i][j] = sums[i][j] + sums[i][j + 2];
    }
  }

  __device__ void turn_into_weights(float (&scores)[2][2], int first, int end) {
    const int n_keys = min(visible_, end) - first - 2 * (lane() % 4);
    float after = largest_;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        if (8 * i + j >= n_keys) scores[i][j] = -INFINITY;
        after = fmaxf(after, scores[i][j]);
      }
    }
    for (int mask = 1; mask < 4; mask *= 2) after = fmaxf(after, __shfl_xor_sync(0xffffffff, after, mask));
    const float keep = exp2_flushed(largest_ - after);
    largest_ = after;
    if (__any_sync(0xffffffff, keep != 1)) {  // mostly, no row of the warp has a larger one
      sum_ *= keep;
      const int head = 2 * (lane() % 4);
      const float keeps[2] = {__shfl_sync(0xffffffff, keep, 4 * head),
                              __shfl_sync(0xffffffff, keep, 4 * head + 4)};
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int j = 0; j < 4; ++j) out_[tile][j] *= keeps[j % 2];
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        scores[i][j] = exp2_flushed(scores[i][j] - after);
        sum_ += scores[i][j];
      }
    }
  }

  __device__ void add_values(const uint32_t (&values)[kTiles][4], const float (&weights)[2][2]) {
    uint32_t w[2], w_rest[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) split<Half>(weights[i][0], weights[i][1], w[i], w_rest[i]);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) multiply_add<Half>(out_[tile], values[tile], w[0], w[1]);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      multiply_add<Half>(out_[tile], values[tile], w_rest[0], w_rest[1]);
  }

  uint32_t q_[kTiles][4];  // scaled: of rows g, and what rounding left out of them
  float out_[kTiles][4];
  float largest_, sum_;  // of row g; this lane's part
  int visible_ = 0;      // keys that it sees, from position 0
};

}  // namespace parlance::cuda::attention
