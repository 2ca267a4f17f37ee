// How matmul for many tokens is cut into tiles, one for each workgroup (gemm_tile.glsl).
#pragma once

#include <cstdint>

#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

struct GemmTile {
  uint32_t row_lanes, token_lanes;  // of a workgroup, which has a lane for each pair of them

  uint32_t n_lanes() const { return row_lanes * token_lanes; }
  uint32_t n_rows() const { return 8 * row_lanes; }
  uint32_t n_tokens() const { return 4 * token_lanes; }
  Groups groups(uint32_t rows, uint32_t tokens) const;
};

// The tile that a device computes such a product in: as large a one as it has room for, while there are
// enough of them for all of a large GPU. `has_dot`: in matmul_gemm_dot.comp, not in matmul_gemm.comp.
GemmTile gemm_tile(const DeviceLimits& limits, bool has_dot, uint32_t rows, uint32_t tokens);

}  // namespace parlance::vulkan
