// Weights as the shaders see them (weights.glsl): the constants of a type, and the pieces of a matrix that
// fit in what a shader can address.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include "base/checked.h"
#include "kernels/vulkan/runtime/dispatch.h"
#include "quant/iq4_nl.h"
#include "tensor/tensor.h"

namespace parlance::vulkan {

inline constexpr size_t kWeightConstants = 8;

// The specialization constants that weights.glsl declares. `whole_quads`: see there.
inline std::array<uint32_t, kWeightConstants> weight_constants(DType dtype, bool whole_quads) {
  std::array<uint32_t, 4> iq4_values{};
  for (size_t i = 0; i < kIq4Values.size(); ++i) {
    iq4_values[i / 4] |= uint32_t{static_cast<uint8_t>(kIq4Values[i])} << (8 * (i % 4));
  }
  return {static_cast<uint32_t>(dtype),
          traits(dtype).block_bytes,
          traits(dtype).block_elements,
          whole_quads,
          iq4_values[0],
          iq4_values[1],
          iq4_values[2],
          iq4_values[3]};
}

// Rows [first_row, first_row + n_rows) of a matrix; the first of them starts `at` bytes into the operand.
struct WeightPiece {
  Operand operand;
  uint32_t at;
  uint32_t first_row;
  uint32_t n_rows;
};

// Calls `use` with each piece of a matrix; nearly always there is one.
template <class Use>
void for_each_piece(Stream& s, const Tensor& weight, Use&& use) {
  constexpr size_t kOperandAlignment = 256;
  const size_t range = std::min<size_t>(limits_of(s).max_storage_range, UINT32_MAX);
  const size_t start = static_cast<size_t>(weight.data - weight.buffer->base());
  const auto rows_at_once = static_cast<int64_t>((range - 2 * kOperandAlignment) / weight.row_size());
  assert(rows_at_once > 0);
  for (int64_t first = 0; first < weight.n_rows(); first += rows_at_once) {
    const int64_t n = std::min(rows_at_once, weight.n_rows() - first);
    const size_t from = start + static_cast<size_t>(first) * weight.row_size();
    const size_t operand_from = from / kOperandAlignment * kOperandAlignment;
    // In whole words: the last one may be half of weights. Buffers are padded.
    const size_t size =
        align_up(from + static_cast<size_t>(n) * weight.row_size(), kOperandAlignment) - operand_from;
    use(WeightPiece{Operand{weight.buffer, operand_from, size}, static_cast<uint32_t>(from - operand_from),
                    static_cast<uint32_t>(first), static_cast<uint32_t>(n)});
  }
}

}  // namespace parlance::vulkan
