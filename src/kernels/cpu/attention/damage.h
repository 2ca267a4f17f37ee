// Values of a cache that are NaN or infinite, where a row of a tile does not see them. A kernel multiplies
// all values of a block with the weights of all rows, which are zero where a row does not see, and zero times
// NaN is NaN; in tiles that must not show in such a row. So a block that holds what is no number is summed up
// with zeros in its place, and rows that see it are told afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kv_view.h"

namespace parlance::attention {

class Damage {
 public:
  // What it keeps of tiles of up to so many rows, against up to kKeyBlock values of n_stored elements.
  static size_t bytes(int64_t n_rows, int64_t n_stored, size_t v_row_bytes);
  Damage(std::byte* memory, int64_t n_rows, int64_t n_stored);

  // No row has seen any.
  void begin();
  // The encoded values of a block; where they hold what is no number a copy without. `stored`, of a value, is
  // temporary.
  const std::byte* mend(const KvView& kv, const std::byte* values, int64_t n_values, float* stored);
  // A row of the tile sees values [first, last) of the block.
  void see(int64_t row, int64_t first, int64_t last);
  // Makes the sums of a row NaN in the channels of what it has seen that is no number.
  void show(int64_t row, float* sums) const;

 private:
  std::span<uint64_t> of_value(int64_t value) const {
    return {of_values_ + value * n_words_, static_cast<size_t>(n_words_)};
  }
  std::span<uint64_t> of_row(int64_t row) const {
    return {of_rows_ + row * n_words_, static_cast<size_t>(n_words_)};
  }
  // Finds what of a value is no number.
  bool is_damaged(const KvView& kv, const std::byte* value, int64_t number, float* stored);

  int64_t n_rows_, n_words_;
  bool is_in_block_ = false;
  // A bit for each channel: of the values of a block, and of rows.
  uint64_t* of_values_;  // [kKeyBlock][n_words]
  uint64_t* of_rows_;    // [n_rows][n_words]
  std::byte* mended_;    // [kKeyBlock][v_row_bytes]
};

}  // namespace parlance::attention
