// Rows of f16 or bf16 weights on their way to shared memory, each warp's own: a warp has tiles of rows one
// after the other, of each a part along n_in, step by step.
#pragma once

#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

inline constexpr int kStepPieces = kHalfStepValues / kPieceValues;  // of a row

// Of a warp: its rows of a step. Pieces change places within a row, so that eight rows' lie in different
// banks.
template <int kRows>
struct RowStage {
  uint4 pieces[kRows][kStepPieces];

  __device__ uint4& at(int row, int piece) { return pieces[row][piece ^ (row % kStepPieces)]; }
};

// Where a warp's copies are: a step of a tile.
template <int kRows>
struct RowsAhead {
  static constexpr int kLanePieces = kRows * kStepPieces / 32;  // of a step

  const Products& p;
  const int begin, end;  // steps of the part
  const int stride;      // from a tile to the warp's next one
  int tile, step;
  const uint8_t* rows[kLanePieces];  // of this lane's pieces

  __device__ RowsAhead(const Products& products, int first_step, int end_step, int first_tile,
                       int tile_stride)
      : p(products), begin(first_step), end(end_step), stride(tile_stride), tile(first_tile), step(begin) {
    find_rows();
  }

  // Starts the copies of the step, if there is one; values past the end of a row are zero.
  __device__ void copy(RowStage<kRows>& stage) {
    if (tile < p.n_tiles) {
      const int piece = threadIdx.x % kStepPieces, at = step * kStepPieces + piece;
      const bool exists = at < p.n_in / kPieceValues;
#pragma unroll
      for (int i = 0; i < kLanePieces; ++i) {
        copy_piece(&stage.at(row(i), piece), rows[i] + (exists ? at * kPieceBytes : 0),
                   exists ? kPieceBytes : 0);
      }
      if (++step == end) {
        step = begin;
        tile += stride;
        find_rows();
      }
    }
    end_copy_group();
  }

 private:
  // Of the tile, that this lane's piece i is of.
  __device__ static int row(int i) {
    return i * (kRows / kLanePieces) + static_cast<int>(threadIdx.x % 32) / kStepPieces;
  }

  __device__ void find_rows() {
    if (tile >= p.n_tiles) return;
#pragma unroll
    for (int i = 0; i < kLanePieces; ++i) rows[i] = find_row(p, tile, kRows, row(i));
  }
};

// Dynamic shared memory that each of so many blocks of a multiprocessor can have.
inline size_t shared_bytes_of_blocks(const Gpu& gpu, size_t n) {
  constexpr size_t kReserved = 1024;  // of every block
  return (gpu.shared_bytes_per_block + kReserved) / n - kReserved;
}

}  // namespace parlance::cuda
