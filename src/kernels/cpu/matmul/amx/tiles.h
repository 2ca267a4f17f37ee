// Products of bf16 in tiles, see amx/floats.cpp.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/matmul/floats.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::amx {

inline constexpr int kBf16PanelRows = 32;
inline constexpr int kBf16TileTokens = 16;

// Where a block of 32 values of a panel has a pair of values of sixteen rows: [block][half of the
// rows][pair][row].
constexpr int64_t place_in_block(int64_t first_row, int64_t pair) {
  return (first_row + pair) * 16;
}

// Of bf16 weights.
extern const FloatKernel kBf16Blocks;

// The same of quantised weights, whose values are rounded to bf16 as panels are made.
const FloatKernel* quantised_as_bf16(DType dtype);

}  // namespace parlance::matmul::amx

#endif
