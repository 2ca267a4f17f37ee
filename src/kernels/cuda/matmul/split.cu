// How blocks share products whose tiles are too few for all multiprocessors.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

Split split_parts(Stream& stream, const Products& products, int n_token_tiles, const Parts& parts,
                  size_t shared_bytes, int tile_values, float* sums) {
  const Gpu& gpu = gpu_of(stream);
  const auto n_at_once =
      gpu.n_multiprocessors * static_cast<int64_t>(gpu.shared_bytes_per_block / shared_bytes);
  const int64_t n_tiles = static_cast<int64_t>(n_token_tiles) * products.n_tiles;
  const bool has_room = n_tiles * parts.n * tile_values <= kMaxPartSums && n_tiles <= kCounters;
  const auto most = static_cast<int>(has_room ? std::clamp<int64_t>(n_at_once / n_tiles, 1, parts.n) : 1);
  const int parts_per_block = div_up(parts.n, most);
  const int n_blocks = div_up(parts.n, parts_per_block);
  return {n_blocks, parts_per_block, n_blocks > 1 ? sums : nullptr, counters_of(stream)};
}

}  // namespace parlance::cuda
