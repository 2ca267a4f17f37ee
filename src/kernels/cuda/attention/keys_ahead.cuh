// Keys and values of 16-bit floats on their way to shared memory, a step of sixteen at a time.
#pragma once

#include "kernels/cuda/attention/warp_rows.cuh"

namespace parlance::cuda::attention {

inline constexpr int kStepKeys = 16;  // that a warp works on at once

// What kThreads threads copy, of which this is `thread`, where pages are of whole steps: rows are looked up
// where a run of keys or a page begins.
template <class Half, int kHeadDim, int kThreads>
class KeysToCopy {
  static constexpr int kPieces = kHeadDim / 8, kRowsAtOnce = kThreads / kPieces;  // pieces of a row

 public:
  __device__ explicit KeysToCopy(int thread) : key_(thread / kPieces), piece_(thread % kPieces) {}

  // Keys from `first` on, which follow those before them unless they begin a run, to those from `at` on of
  // the block; those from `end` on become zeros.
  template <int kBlockKeys>
  __device__ void copy(const Params& p, const Walk& walk, Block<Half, kHeadDim, kBlockKeys>& block, int at,
                       int first, int end, bool begins) {
    if (first < end && (begins || slot_ == p.page_tokens)) {
      const int index = first / p.page_tokens;
      slot_ = first - index * p.page_tokens;
      const int64_t page = walk.page(index) * p.page_bytes + piece_ * kPieceBytes;
      k_ = walk.keys + page + (slot_ + key_) * p.k_row_bytes;
      v_ = walk.values + page + (slot_ + key_) * p.v_row_bytes;
    }
    slot_ += kStepKeys;
#pragma unroll
    for (int i = 0; i < kStepKeys; i += kRowsAtOnce) {
      // Rows past the end are zeros: their weights are 0, and 0 times what lies there need not be.
      const int row = i + key_, n_bytes = first + row < end ? kPieceBytes : 0;
      copy_piece(&block.k[at + row][piece_ * 8], k_, n_bytes);
      copy_piece(&block.v[at + row][piece_ * 8], v_, n_bytes);
      k_ += kRowsAtOnce * p.k_row_bytes;
      v_ += kRowsAtOnce * p.v_row_bytes;
    }
  }

 private:
  const int key_, piece_;
  int slot_ = 0;                                 // in its page, of the key behind those that were copied
  const std::byte *k_ = nullptr, *v_ = nullptr;  // this thread's first pieces of the next step
};

}  // namespace parlance::cuda::attention
