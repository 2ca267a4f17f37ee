// A copy of a quantised weight in strips of 32 rows, which AVX-512 reads as one stream and without taking
// rows apart. Of each block of a row a strip has
//
//   codes   sixteen rows' pieces of four bytes side by side, for the lanes of a vector, piece after piece;
//           then those of the other sixteen rows
//   steps   [32]: f16
//
// in as many bytes as the rows had. Where a block has 256 values, all that is not codes comes first, byte by
// byte of all rows, and codes lie in groups that are unpacked together. Rows beyond the last one are zeros.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "base/os/memory.h"
#include "tensor/tensor.h"

namespace parlance {

inline constexpr int64_t kStripRows = 32;

class PackedWeight {
 public:
  // Whether there is such a layout for a type.
  static bool is_for(DType dtype) {
    return dtype == DType::q4_0 || dtype == DType::q8_0 || dtype == DType::q4_k || dtype == DType::q6_k;
  }

  explicit PackedWeight(const Tensor& weight);

  size_t n_bytes() const;
  // Copies the weight into memory that `allocation` keeps.
  void make(std::span<std::byte> memory, std::shared_ptr<const OwnPages> allocation,
            const std::atomic<bool>& stop);

  // The strips from the row on that `rows`, rows of the weight, begin with; null while there is no copy, and
  // where that row does not begin a strip.
  const std::byte* strips_of(const Tensor& rows) const;

  // A block of a row as it was; `strips` are those of rows of n_in values.
  static void copy_block(const std::byte* strips, DType dtype, int64_t n_in, int64_t row, int64_t index,
                         std::byte* block);

 private:
  const Tensor weight_;
  std::shared_ptr<const OwnPages> allocation_;
  std::atomic<const std::byte*> strips_{nullptr};
};

}  // namespace parlance
