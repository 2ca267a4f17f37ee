#include "kernels/cpu/matmul/packed_weight.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "quant/q4_0.h"
#include "quant/q8_0.h"

namespace parlance {

namespace {

// Blocks begin with their step, codes follow.
constexpr size_t kStepBytes = sizeof(uint16_t);
static_assert(offsetof(BlockQ4_0, d) == 0 && offsetof(BlockQ4_0, q) == kStepBytes);
static_assert(offsetof(BlockQ8_0, d) == 0 && offsetof(BlockQ8_0, q) == kStepBytes);

constexpr size_t kPieceBytes = 4;
constexpr size_t kVectorRows = 16;

// Where the pieces and steps of a row lie in a strip's run of blocks of so many bytes.
struct RowOfRun {
  RowOfRun(size_t row, size_t block_bytes)
      : n_pieces((block_bytes - kStepBytes) / kPieceBytes),
        first_piece(row / kVectorRows * kVectorRows * n_pieces * kPieceBytes +
                    row % kVectorRows * kPieceBytes),
        step(kStripRows * n_pieces * kPieceBytes + row * kStepBytes) {}

  size_t n_pieces;
  size_t first_piece;  // the others follow at a distance of kVectorRows pieces
  size_t step;
};

template <size_t kBlockBytes>
void pack_strip(const std::byte* rows, size_t row_bytes, int64_t n_rows, std::byte* strip) {
  for (size_t row = 0; row < static_cast<size_t>(n_rows); ++row) {
    const RowOfRun at(row, kBlockBytes);
    const std::byte* block = rows + row * row_bytes;
    std::byte* run = strip;
    for (size_t byte = 0; byte < row_bytes; byte += kBlockBytes) {
      constexpr size_t kPieces = (kBlockBytes - kStepBytes) / kPieceBytes;
      for (size_t i = 0; i < kPieces; ++i) {
        std::memcpy(run + at.first_piece + i * kVectorRows * kPieceBytes,
                    block + kStepBytes + i * kPieceBytes, kPieceBytes);
      }
      std::memcpy(run + at.step, block, kStepBytes);
      block += kBlockBytes;
      run += kStripRows * kBlockBytes;
    }
  }
}

}  // namespace

PackedWeight::PackedWeight(const Tensor& weight) : weight_(weight) {}

size_t PackedWeight::n_bytes() const {
  return static_cast<size_t>(align_up(weight_.n_rows(), kStripRows)) * weight_.row_size();
}

void PackedWeight::make(std::span<std::byte> memory, std::shared_ptr<const OwnPages> allocation,
                        const std::atomic<bool>& stop) {
  const size_t row_bytes = weight_.row_size();
  const auto pack =
      weight_.dtype == DType::q4_0 ? pack_strip<sizeof(BlockQ4_0)> : pack_strip<sizeof(BlockQ8_0)>;
  for (int64_t row = 0; row < weight_.n_rows(); row += kStripRows) {
    if (stop.load(std::memory_order_relaxed)) return;
    pack(weight_.row(row), row_bytes, std::min(kStripRows, weight_.n_rows() - row),
         memory.data() + static_cast<size_t>(row) * row_bytes);
  }
  allocation_ = std::move(allocation);
  strips_.store(memory.data(), std::memory_order_release);
}

const std::byte* PackedWeight::strips_of(const Tensor& rows) const {
  const std::byte* const packed = strips_.load(std::memory_order_acquire);
  if (!packed || rows.ne[0] != weight_.ne[0]) return nullptr;
  const auto offset = static_cast<size_t>(rows.data - weight_.data);
  return offset % (kStripRows * weight_.row_size()) == 0 ? packed + offset : nullptr;
}

void PackedWeight::copy_block(const std::byte* strips, DType dtype, int64_t n_in, int64_t row, int64_t run,
                              std::byte* block) {
  const size_t block_bytes = traits(dtype).block_bytes;
  const RowOfRun at(static_cast<size_t>(row % kStripRows), block_bytes);
  const std::byte* from = strips +
                          static_cast<size_t>(row / kStripRows * kStripRows) * row_bytes(dtype, n_in) +
                          static_cast<size_t>(run * kStripRows) * block_bytes;
  std::memcpy(block, from + at.step, kStepBytes);
  for (size_t i = 0; i < at.n_pieces; ++i) {
    std::memcpy(block + kStepBytes + i * kPieceBytes, from + at.first_piece + i * kVectorRows * kPieceBytes,
                kPieceBytes);
  }
}

}  // namespace parlance
