#include "kernels/vulkan/gemm_tile.h"

#include "base/checked.h"

namespace parlance::vulkan {

namespace {

// Bytes of shared memory: of matmul_gemm_dot.comp two runs of a row or token with what most belongs to them,
// 48 bytes to a run; of matmul_gemm.comp 32 floats.
size_t shared_bytes(const GemmTile& tile, bool has_dot) {
  const size_t n = tile.n_rows() + tile.n_tokens();
  return has_dot ? 2 * 48 * (n + 2) : 32 * sizeof(float) * n;
}

}  // namespace

Groups GemmTile::groups(uint32_t rows, uint32_t tokens) const {
  return {div_up(rows, n_rows()), div_up(tokens, n_tokens()), 1};
}

GemmTile gemm_tile(const DeviceLimits& limits, bool has_dot, uint32_t rows, uint32_t tokens) {
  struct Choice {
    GemmTile tile;
    uint32_t least_groups;
  };
  // Weights are the costlier ones to take to shared memory where they must be unpacked, activations where
  // they are twice as wide.
  const Choice larger[] = {{{8, 16}, 128}, {has_dot ? GemmTile{8, 32} : GemmTile{16, 16}, 256}};
  // Drivers on the CPU compute a large group slowly.
  if (limits.is_software) return {8, 4};
  GemmTile chosen{8, 8};
  for (const auto& [tile, least_groups] : larger) {
    const Groups groups = tile.groups(rows, tokens);
    if (tile.n_lanes() <= limits.max_group_invocations &&
        shared_bytes(tile, has_dot) <= limits.shared_bytes && groups.x * groups.y >= least_groups)
      chosen = tile;
  }
  return chosen;
}

}  // namespace parlance::vulkan
