// Scratch memory of attention's tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"

namespace parlance::attention {

inline constexpr size_t kLine = 64;
// Weights are powers of 2: scores are multiplied with this.
inline constexpr float kLog2E = 1.44269504f;

// Hands out consecutive aligned pieces of a thread's scratch memory.
class Pieces {
 public:
  explicit Pieces(std::byte* next) : next_(next) {}
  template <class T>
  T* take(int64_t n) {
    T* piece = reinterpret_cast<T*>(next_);
    next_ += align_up(static_cast<size_t>(n) * sizeof(T), kLine);
    return piece;
  }

 private:
  std::byte* next_;
};

// As before any score has been seen.
inline void forget_scores(const Tile& tile) {
  // Not minus infinity, which is no distance away from itself.
  std::fill_n(tile.largest, tile.n_rows, std::numeric_limits<float>::lowest());
  std::fill_n(tile.sum, tile.n_rows, 0.0f);
}

// What a tile has for each of its n_rows rows beside its query, before any score has been seen; `out` is not
// cleared.
inline void take_rows(Pieces& pieces, Tile& tile, int64_t out_stride) {
  tile.out = pieces.take<float>(tile.n_rows * out_stride);
  tile.scores = pieces.take<float>(tile.n_rows * kKeyBlock);
  tile.visible = pieces.take<int32_t>(tile.n_rows);
  tile.block_largest = pieces.take<float>(tile.n_rows);
  tile.block_sum = pieces.take<float>(tile.n_rows);
  tile.largest = pieces.take<float>(tile.n_rows);
  tile.sum = pieces.take<float>(tile.n_rows);
  forget_scores(tile);
}

}  // namespace parlance::attention
