#include "kernels/cpu/matmul/packed_weight.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "quant/q4_0.h"
#include "quant/q4_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace parlance {

namespace {

constexpr size_t kPieceBytes = 4;
constexpr size_t kVectorRows = 16;

// Consecutive parts of a block, and where they are in a strip's block: pieces of codes, of which the first
// sixteen rows' lie before those of the others; or parts of one or two bytes, each of all rows.
struct Field {
  size_t from;   // in the block
  size_t n;      // parts
  size_t bytes;  // of each
  size_t to;     // in the strip's block

  bool is_pieces() const { return bytes == kPieceBytes; }
  // Where those of a row begin in the strip's block, and how far one is from the next.
  size_t first(size_t row) const {
    if (!is_pieces()) return to + row * bytes;
    return to + row / kVectorRows * n * step() + row % kVectorRows * kPieceBytes;
  }
  size_t step() const { return (is_pieces() ? kVectorRows : kStripRows) * bytes; }
};

// Two bytes of a step, then codes.
template <class Block>
constexpr std::array<Field, 2> kRunFields = {
    {{offsetof(Block, q), sizeof(Block::q) / kPieceBytes, kPieceBytes, 0},
     {offsetof(Block, d), 1, sizeof(Block::d), kStripRows * sizeof(Block::q)}}};

// Codes of two runs share bytes.
constexpr std::array<Field, 6> kQ4KFields = {{{offsetof(BlockQ4K, d), 2, 2, 0},  // and dmin
                                              {offsetof(BlockQ4K, scales), 12, 1, 4 * kStripRows},
                                              {offsetof(BlockQ4K, q), 8, 4, 16 * kStripRows},
                                              {offsetof(BlockQ4K, q) + 32, 8, 4, 48 * kStripRows},
                                              {offsetof(BlockQ4K, q) + 64, 8, 4, 80 * kStripRows},
                                              {offsetof(BlockQ4K, q) + 96, 8, 4, 112 * kStripRows}}};

// Of each half of the values: the lower bits of its codes, then the upper ones.
constexpr std::array<Field, 6> kQ6KFields = {{{offsetof(BlockQ6K, d), 1, 2, 0},
                                              {offsetof(BlockQ6K, scales), 16, 1, 2 * kStripRows},
                                              {offsetof(BlockQ6K, low), 16, 4, 18 * kStripRows},
                                              {offsetof(BlockQ6K, high), 8, 4, 82 * kStripRows},
                                              {offsetof(BlockQ6K, low) + 64, 16, 4, 114 * kStripRows},
                                              {offsetof(BlockQ6K, high) + 32, 8, 4, 178 * kStripRows}}};

std::span<const Field> fields_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return kRunFields<BlockQ4_0>;
    case DType::q8_0:
      return kRunFields<BlockQ8_0>;
    case DType::q4_k:
      return kQ4KFields;
    default:
      return kQ6KFields;
  }
}

// How far apart a field's parts are, and those of the next block.
struct Distances {
  size_t part, block;
};

// The parts of a field of one or several blocks.
template <size_t kBytes>
void copy_parts(size_t n_blocks, size_t n_parts, const std::byte* from, Distances own, std::byte* to,
                Distances theirs) {
  for (size_t block = 0; block < n_blocks; ++block) {
    for (size_t part = 0; part < n_parts; ++part) {
      std::memcpy(to + block * theirs.block + part * theirs.part, from + block * own.block + part * own.part,
                  kBytes);
    }
  }
}
auto* copy_parts_of(const Field& field) {
  return field.bytes == 4 ? copy_parts<4> : field.bytes == 2 ? copy_parts<2> : copy_parts<1>;
}

void pack_strip(DType dtype, const std::byte* rows, size_t row_bytes, int64_t n_rows, std::byte* strip) {
  const size_t block_bytes = traits(dtype).block_bytes;
  for (size_t row = 0; row < static_cast<size_t>(n_rows); ++row) {
    for (const Field& field : fields_of(dtype)) {
      copy_parts_of(field)(row_bytes / block_bytes, field.n, rows + row * row_bytes + field.from,
                           {field.bytes, block_bytes}, strip + field.first(row),
                           {field.step(), kStripRows * block_bytes});
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
  for (int64_t row = 0; row < weight_.n_rows(); row += kStripRows) {
    if (stop.load(std::memory_order_relaxed)) return;
    pack_strip(weight_.dtype, weight_.row(row), row_bytes, std::min(kStripRows, weight_.n_rows() - row),
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

void PackedWeight::copy_block(const std::byte* strips, DType dtype, int64_t n_in, int64_t row, int64_t index,
                              std::byte* block) {
  const std::byte* from = strips +
                          static_cast<size_t>(row / kStripRows * kStripRows) * row_bytes(dtype, n_in) +
                          static_cast<size_t>(index * kStripRows) * traits(dtype).block_bytes;
  const auto own = static_cast<size_t>(row % kStripRows);
  for (const Field& field : fields_of(dtype))
    copy_parts_of(field)(1, field.n, from + field.first(own), {field.step(), 0}, block + field.from,
                         {field.bytes, 0});
}

}  // namespace parlance
