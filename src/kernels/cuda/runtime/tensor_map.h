// Descriptions of tensors in memory, of which one instruction copies a box to shared memory (tensor maps),
// from compute capability 9.0 on. They are a kernel's parameters.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace parlance::cuda {

// Rows of pieces of so many bytes, a multiple of 16, and what a copy takes: of so many rows every
// piece_step-th piece, of which there are box_pieces. In the copy, rows' first pieces follow each other, then
// their second ones; what lies behind a row's pieces, or the rows, is zero.
struct Boxes {
  const void* data;
  uint64_t piece_bytes, n_pieces, row_bytes, n_rows;
  uint32_t piece_step, box_pieces, box_rows;
};
inline constexpr uint32_t kMostBoxStep = 8;  // that there can be
inline constexpr int kBoxAlignment = 128;    // of a copy in shared memory

// Whether the driver describes tensors at all.
bool has_tensor_maps();

CUtensorMap tensor_map_of(const Boxes& boxes);

}  // namespace parlance::cuda
