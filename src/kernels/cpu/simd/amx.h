// Shapes of AMX's tiles, which a thread says before it uses them.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa.h"

#if PARLANCE_X86

namespace parlance::simd {

inline constexpr int kTileRows = 16;  // at most
inline constexpr int kTileRowBytes = 64;

// What LDTILECFG reads.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  constexpr void set(int tile, int n_rows, int n_row_bytes) {
    rows[tile] = static_cast<uint8_t>(n_rows);
    row_bytes[tile] = static_cast<uint16_t>(n_row_bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace parlance::simd

#endif
