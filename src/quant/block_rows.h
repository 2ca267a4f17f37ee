// A row of blocks from the encode() and decode() of one block. Blocks are packed structs, so bytes need no
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parlance {

template <class Block>
void decode_row(const std::byte* in, float* x, int64_t n) {
  const auto* blocks = reinterpret_cast<const Block*>(in);
  for (int64_t b = 0; b < n / Block::kElements; ++b) decode(blocks[b], x + b * Block::kElements);
}

template <class Block>
void encode_row(const float* x, std::byte* out, int64_t n) {
  auto* blocks = reinterpret_cast<Block*>(out);
  for (int64_t b = 0; b < n / Block::kElements; ++b) encode(x + b * Block::kElements, blocks[b]);
}

}  // namespace parlance
