// Rows of f16 weights on their way to a tile of kTileRows by 64 values, by some threads that have pieces of
// every step.
#pragma once

#include "kernels/cuda/matmul/wide_tile.cuh"

namespace parlance::cuda::wide_tile {

inline constexpr int kTileBytes = kTileRows * kSwizzledRowBytes;
inline constexpr int kStepPieces = kHalfStepValues * 2 / kPieceBytes;  // of a row

// What one of so many threads has of a step.
template <int kOfThreads>
struct RowPieces {
  static constexpr int kRowsAtOnce = kOfThreads / kStepPieces, kPieces = kTileRows / kRowsAtOnce;
  int thread;

  __device__ int piece() const { return thread % kStepPieces; }
  __device__ int row(int i) const { return i * kRowsAtOnce + thread / kStepPieces; }
};

// Of weights as they lie in a file.
template <int kOfThreads>
class PlainRows {
  using Pieces = RowPieces<kOfThreads>;

 public:
  __device__ PlainRows(const Products& p, const Place& place, int thread) : pieces_{thread}, n_in_(p.n_in) {
#pragma unroll
    for (int i = 0; i < Pieces::kPieces; ++i) {
      const int row = pieces_.row(i);
      const GroupRows rows = place.rows_of(p, row / kWarpgroupRows);
      from_[i] = rows.row(row % kWarpgroupRows) + pieces_.piece() * kPieceBytes;
    }
  }

  // Values past the end of a row are zero. Behind the last row that exists, it is meant.
  __device__ void copy(uint8_t* tile, int step) const {
    const int at = step * kSwizzledRowBytes;
    const bool exists = at + pieces_.piece() * kPieceBytes < n_in_ * static_cast<int>(sizeof(uint16_t));
#pragma unroll
    for (int i = 0; i < Pieces::kPieces; ++i)
      copy_piece(tile + swizzled_place(pieces_.row(i), pieces_.piece()), from_[i] + (exists ? at : 0),
                 exists ? kPieceBytes : 0);
  }

 private:
  const Pieces pieces_;
  const int n_in_;
  const uint8_t* from_[Pieces::kPieces];
};

}  // namespace parlance::cuda::wide_tile
