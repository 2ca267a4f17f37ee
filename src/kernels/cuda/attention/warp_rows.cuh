// Sixteen rows (heads, or heads of several tokens) against blocks of keys on tensor cores. Keys and values
// are 16-bit floats as they are stored; queries and weights go in as two such floats each, so that their
// rounding does not show in the result. For the many rows of a prompt, one f16 each does: a result near 1 is
// then off by 2.4e-4 at most, and half of the work is left.
#pragma once

#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/attention/mma.cuh"

namespace parlance::cuda::attention {

// Keys and values of a block in shared memory. The padding keeps eight rows of a matrix out of each other's
// banks.
template <class Half, int kHeadDim, int kKeys>
struct Block {
  Half k[kKeys][kHeadDim + 8];
  Half v[kKeys][kHeadDim + 8];

  // With as many threads, whose number from 0 on is `thread`.
  template <int kThreads>
  __device__ void load(const Params& p, const Walk& walk, int first, int end, int thread) {
    constexpr int kPieces = kHeadDim / 8;  // of a row
    const int piece = thread % kPieces;
    // Pages of whole blocks are looked up once.
    const bool is_one_page = p.page_tokens % kKeys == 0 && first % kKeys == 0;
    const int index = first / p.page_tokens;
    const int slot = first - index * p.page_tokens;
    const std::byte *keys = walk.keys, *values = walk.values;
    if (is_one_page) {
      const int64_t page = walk.page(index) * p.page_bytes;
      keys += page + slot * p.k_row_bytes;
      values += page + slot * p.v_row_bytes;
    }
#pragma unroll
    for (int i = 0; i < kKeys; i += kThreads / kPieces) {
      // Rows past the end are zeros: their weights are 0, and 0 times what lies there need not be.
      const int key = i + thread / kPieces;
      const int n_bytes = first + key < end ? kPieceBytes : 0;
      const int pos = min(first + key, end - 1);
      const std::byte* k_row = is_one_page ? keys + key * p.k_row_bytes : walk.k_row(p, pos);
      const std::byte* v_row = is_one_page ? values + key * p.v_row_bytes : walk.v_row(p, pos);
      copy_piece(&k[key][piece * 8], k_row + piece * kPieceBytes, n_bytes);
      copy_piece(&v[key][piece * 8], v_row + piece * kPieceBytes, n_bytes);
    }
  }
};

// Sixteen rows of a warp against their keys; a lane has parts of rows `lane / 4` and `lane / 4 + 8`.
template <class Half, int kHeadDim, int kKeys>
struct WarpRows {
  uint32_t q[kHeadDim / 16][4];  // scaled
  // Whether what rounding leaves out counts, too.
  static constexpr bool kIsExact = kKeys <= 16 || !std::is_same_v<Half, __half>;
  uint32_t q_rest[kHeadDim / 16][4];  // what rounding q left out, if it counts
  float out[kHeadDim / 8][4];
  float largest[2];
  float sum[2];    // this lane's part
  int visible[2];  // keys that the row sees, from position 0

  __device__ WarpRows() {
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) q[step][i] = q_rest[step][i] = 0;
    }
  }

  // Row `half` of this lane is that of a query, or absent.
  __device__ void start(const float* query, float scale, int half, int n_visible, bool is_present) {
    const float* row = query + 2 * (threadIdx.x % 4);
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const float* two = row + step * 16 + side * 8;
        const float x = is_present ? two[0] * scale : 0.0f;
        const float y = is_present ? two[1] * scale : 0.0f;
        split<Half>(x, y, q[step][2 * side + half], q_rest[step][2 * side + half]);
      }
    }
    visible[half] = n_visible;
  }

  __device__ void start_segment() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out[i][j] = 0;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) largest[half] = kLowest, sum[half] = 0;
  }

  // Keys from `first` on, which are those from `at` on of the block.
  template <int kBlockKeys>
  __device__ void add(const Block<Half, kHeadDim, kBlockKeys>& block, int at, int first, int end) {
    Scores scores = {};
    multiply_keys(block.k[at], scores);
    turn_into_weights(scores, first, end);
    add_values(block.v[at], scores);
  }
  __device__ void add(const Block<Half, kHeadDim, kKeys>& block, int first, int end) {
    add(block, 0, first, end);
  }

  // Row `half` of this lane.
  __device__ static int row(int half) {
    return half * 8 + static_cast<int>(threadIdx.x) % 32 / 4;
  }

  // What a segment's keys have yielded, as rows from first_row on.
  template <int kRows>
  __device__ void leave(float (&to)[kRows][kHeadDim + 8], float2 (&stats)[kRows], int first_row) const {
    const int in_row = 2 * (threadIdx.x % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float all = sum[half];
      for (int mask = 1; mask < 4; mask *= 2) all += __shfl_xor_sync(0xffffffff, all, mask);
      const int at = first_row + row(half);
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(&to[at][in_row + 8 * i]) =
            make_float2(out[i][2 * half], out[i][2 * half + 1]);
      if (in_row == 0) stats[at] = make_float2(largest[half], all);
    }
  }

 private:
  // Few keys are few sums, which wait for each other: what rounding q left out has sums of its own then.
  static constexpr bool kHasRests = kKeys <= 16;
  using Scores = float[kKeys / 8][4];
  __device__ static float (&rest_of(Scores& scores, Scores& rests, int i))[4] {
    return (kHasRests ? rests : scores)[i];
  }

  static constexpr int kStride = kHeadDim + 8;  // of a block's rows

  __device__ void multiply_keys(const Half* block, Scores& scores) const {
    Scores rests = {};
    const int lane = threadIdx.x % 32;
    const Half* mine = block + (lane / 16 * 8 + lane % 8) * kStride + lane / 8 % 2 * 8;
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
#pragma unroll
      for (int keys = 0; keys < kKeys / 16; ++keys) {
        uint32_t k[4];
        load_matrices(k, mine + keys * 16 * kStride + step * 16);
        multiply_add<Half>(scores[2 * keys], q[step], k[0], k[1]);
        multiply_add<Half>(scores[2 * keys + 1], q[step], k[2], k[3]);
        if constexpr (kIsExact) {
          multiply_add<Half>(rest_of(scores, rests, 2 * keys), q_rest[step], k[0], k[1]);
          multiply_add<Half>(rest_of(scores, rests, 2 * keys + 1), q_rest[step], k[2], k[3]);
        }
      }
    }
    if constexpr (kHasRests) {
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) scores[i][j] += rests[i][j];
      }
    }
  }

  __device__ void turn_into_weights(float (&scores)[kKeys / 8][4], int first, int end) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int n_keys = min(visible[half], end) - first - 2 * static_cast<int>(threadIdx.x % 4);
      float after = largest[half];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][2 * half + j];
          if (8 * i + j >= n_keys) score = -INFINITY;
          after = fmaxf(after, score);
        }
      }
      for (int mask = 1; mask < 4; mask *= 2) after = fmaxf(after, __shfl_xor_sync(0xffffffff, after, mask));
      const float keep = exp2_flushed(largest[half] - after);
      largest[half] = after;
      if (__any_sync(0xffffffff, keep != 1)) {  // mostly, no row of the warp has a larger one
        sum[half] *= keep;
#pragma unroll
        for (int i = 0; i < kHeadDim / 8; ++i) out[i][2 * half] *= keep, out[i][2 * half + 1] *= keep;
      }
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][2 * half + j];
          score = exp2_flushed(score - after);
          sum[half] += score;
        }
      }
    }
  }

  __device__ void add_values(const Half* block, const float (&weights)[kKeys / 8][4]) {
    const int lane = threadIdx.x % 32;
    const Half* mine = block + lane % 16 * kStride + lane / 16 * 8;
#pragma unroll
    for (int keys = 0; keys < kKeys / 16; ++keys) {
      uint32_t w[4], w_rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* two = &weights[2 * keys + i / 2][i % 2 * 2];
        split<Half>(two[0], two[1], w[i], w_rest[i]);
      }
#pragma unroll
      for (int dims = 0; dims < kHeadDim / 16; ++dims) {
        uint32_t v[4];
        load_transposed(v, mine + keys * 16 * kStride + dims * 16);
        multiply_add<Half>(out[2 * dims], w, v[0], v[1]);
        multiply_add<Half>(out[2 * dims + 1], w, v[2], v[3]);
        if constexpr (kIsExact) {
          multiply_add<Half>(out[2 * dims], w_rest, v[0], v[1]);
          multiply_add<Half>(out[2 * dims + 1], w_rest, v[2], v[3]);
        }
      }
    }
  }
};

}  // namespace parlance::cuda::attention
