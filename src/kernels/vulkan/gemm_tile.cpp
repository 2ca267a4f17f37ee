#include "kernels/vulkan/gemm_tile.h"

#include "base/checked.h"

namespace parlance::vulkan {

namespace {

// Bytes of shared memory: 32 values of each row and token.
size_t shared_bytes(const GemmTile& tile) {
  return 32 * sizeof(float) * (tile.n_rows() + tile.n_tokens());
}

}  // namespace

Groups GemmTile::groups(uint32_t rows, uint32_t tokens) const {
  return {div_up(rows, n_rows()), div_up(tokens, n_tokens()), 1};
}

GemmTile gemm_tile(const DeviceLimits& limits, uint32_t rows, uint32_t tokens) {
  struct Choice {
    GemmTile tile;
    uint32_t least_groups;
  };
  const Choice larger[] = {{{8, 16}, 128}, {{16, 16}, 256}};
  // Drivers on the CPU compute a large group slowly.
  if (limits.is_software) return {8, 4};
  GemmTile chosen{8, 8};
  for (const auto& [tile, least_groups] : larger) {
    const Groups groups = tile.groups(rows, tokens);
    if (tile.n_lanes() <= limits.max_group_invocations && shared_bytes(tile) <= limits.shared_bytes &&
        groups.x * groups.y >= least_groups)
      chosen = tile;
  }
  return chosen;
}

}  // namespace parlance::vulkan
