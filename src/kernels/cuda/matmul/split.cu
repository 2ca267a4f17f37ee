// How blocks share products whose tiles are too few for all multiprocessors.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

// Blocks for each tile, so that all multiprocessors are busy.
int64_t most_blocks(const Gpu& gpu, int64_t n_tiles, int64_t n_parts, size_t shared_bytes) {
  const auto n_at_once =
      gpu.n_multiprocessors * static_cast<int64_t>(gpu.shared_bytes_per_block / shared_bytes);
  return std::clamp<int64_t>(n_at_once / n_tiles, 1, n_parts);
}

}  // namespace

bool has_one_order(Stream& stream, int64_t n_tokens) {
  return n_tokens <= kMostAlikeTokens || gpu_of(stream).is_deterministic;
}

Parts parts_for_blocks(Stream& stream, const Products& products, int n_token_tiles, int unit_values,
                       size_t shared_bytes, int tile_values) {
  constexpr int kFewestValues = 128;  // of a part: fewer are not worth the sums that they leave
  const int64_t n_tiles = static_cast<int64_t>(n_token_tiles) * products.n_tiles;
  const int n_units = div_up(products.n_in, unit_values);
  const int64_t n_room = kMaxPartSums / (n_tiles * tile_values);
  const int64_t most = std::min<int64_t>({most_blocks(gpu_of(stream), n_tiles, n_units, shared_bytes),
                                          n_units / div_up(kFewestValues, unit_values), n_room});
  const int units = div_up(n_units, static_cast<int>(std::max<int64_t>(most, 1)));
  return {div_up(n_units, units), units};
}

Split split_parts(Stream& stream, int64_t n_tiles, const Parts& parts, size_t shared_bytes, int tile_values,
                  float* sums) {
  const bool has_room = n_tiles * parts.n * tile_values <= kMaxPartSums;
  const auto most =
      static_cast<int>(has_room ? most_blocks(gpu_of(stream), n_tiles, parts.n, shared_bytes) : 1);
  const int parts_per_block = div_up(parts.n, most);
  const int n_blocks = div_up(parts.n, parts_per_block);
  return {n_blocks, parts_per_block, n_blocks > 1 ? sums : nullptr};
}

}  // namespace parlance::cuda
