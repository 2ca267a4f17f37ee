// How a few tokens' products with quantised weights are shared out among blocks and warps, and what they keep
// in shared memory: see quantised_few.cu.
#pragma once

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "kernels/cuda/matmul/few_steps.cuh"
#include "kernels/cuda/matmul/few_sums.cuh"

namespace parlance::cuda {

inline constexpr int kMostFewWarps = 16;
// Of a cluster: larger ones leave multiprocessors without a block.
inline constexpr int kMostLogFewBlocks = 2;

// How tiles, their parts and their columns are shared out. A block has all tiles of its cluster, of them some
// parts; so many of its warps share a tile's parts, and so many have those parts, of some columns each.
struct FewShape {
  int log_blocks;         // of a cluster
  int block_parts;        // of a block: less where parts end
  int part_warps;         // of a block, that share a tile's parts
  int warp_parts;         // of a warp: less where the block's end
  int column_warps;       // that have the same parts
  int n_slots, n_rounds;  // tiles of a block at once, and how often
  int n_stages;           // of a warp's weights
  int n_steps;            // of tokens that there is room for

  __host__ __device__ int n_blocks() const { return 1 << log_blocks; }
  __host__ __device__ int tile_warps() const { return part_warps * column_warps; }
  __host__ __device__ int n_warps() const { return n_slots * tile_warps(); }
  // Whether a warp has all of a tile's parts.
  __host__ __device__ bool is_whole() const { return log_blocks == 0 && part_warps == 1; }
  // Sums of a tile that a warp puts aside (SumsAside).
  __host__ __device__ int n_aside() const { return is_whole() ? 1 : warp_parts - 1; }
};

// Bytes of shared memory, in this order. What warps leave of their sums lies where weights and tokens were.
template <class Type, int kColumns>
struct FewMemory {
  int aside, stages, steps, scales, left;

  __host__ __device__ FewMemory(const FewShape& shape, const Parts& parts, const UnitLayout& layout)
      : aside(shape.n_warps() * SumsAside<kColumns>::bytes(shape.n_aside())),
        stages(shape.n_warps() * shape.n_stages * FewStages<Type>::kStageBytes),
        steps(shape.n_steps * shape.part_warps * layout.bytes(Type::kHasMinimum)),
        scales(shape.n_warps() * UnitScales<Type>::kBytes),
        left(shape.is_whole() ? 0
                              : LeftSums::bytes(shape.n_slots * layout.columns, parts.n, shape.log_blocks)) {}
  __host__ __device__ int all() const {
    const int multiplying = stages + steps + scales;
    return aside + (multiplying > left ? multiplying : left);
  }
};

// ---- Which one is best ----

// How long a block takes, in clocks, by what was measured; of shapes that have room. n_tiles: of the cluster.
struct FewCost {
  static constexpr int kRun = 28, kColumn = 15;                // instructions of a warp
  static constexpr float kMostRate = 2.4f, kWarpRate = 0.35f;  // of them in a clock: of all warps, of one
  static constexpr float kFewStages = 1500;  // more a unit, where none is on its way while one is multiplied
  static constexpr float kTokenBytes = 32;   // that arrive in a clock
  static constexpr float kExchange = 1000;   // of sums

  static float of(const FewShape& shape, const Parts& parts, int n_tiles, int columns, int step_bytes) {
    const auto steps = static_cast<float>(shape.n_rounds * shape.warp_parts * parts.units);
    const auto of_unit = static_cast<float>(kUnitRuns * (kRun + kColumn * (columns / shape.column_warps)));
    const auto n_units = static_cast<float>(n_tiles * shape.block_parts * parts.units * shape.column_warps);
    const float all = n_units * of_unit / kMostRate;
    const float alone = steps * (of_unit / kWarpRate + (shape.n_stages < 2 && steps > 1 ? kFewStages : 0));
    const float tokens = steps * static_cast<float>(step_bytes) / kTokenBytes;
    return std::max({all, alone, tokens}) + (shape.is_whole() ? 0 : kExchange);
  }
};

struct FoundShape {
  float cost;
  FewShape shape;
  int n_clusters;
  size_t shared_bytes;
};

// Gives a shape room for weights and tokens on their way: two stages of each, three of weights, all of the
// tokens, which then come once, more of weights. False where there is no room.
template <class Type, int kColumns>
bool fill_room(FewShape& shape, const Parts& parts, const UnitLayout& layout, size_t room) {
  const int round_steps = shape.warp_parts * parts.units;
  const int most_stages = std::min(kMostFewStages, shape.n_rounds * round_steps);
  const int most_steps = std::min(kMostFewSteps, round_steps);
  const auto has_room = [&](int n_stages, int n_steps) {  // gives it so much, too
    shape.n_stages = n_stages, shape.n_steps = n_steps;
    return static_cast<size_t>(FewMemory<Type, kColumns>(shape, parts, layout).all()) <= room;
  };
  int n_stages = std::min(2, most_stages), n_steps = std::min(2, most_steps);
  if (!has_room(n_stages, n_steps)) n_stages = 1;
  if (!has_room(n_stages, n_steps)) return false;
  if (n_stages == 2 && most_stages > 2 && has_room(3, n_steps)) n_stages = 3;
  while (n_steps < most_steps && has_room(n_stages, n_steps + 1)) ++n_steps;
  while (n_stages < most_stages && has_room(n_stages + 1, n_steps)) ++n_stages;
  return has_room(n_stages, n_steps);
}

// The best one of blocks that have n_tiles, of clusters of so many, and warps that have so many columns.
// Nothing where there is no room.
template <class Type, int kColumns>
void find_shape(std::optional<FoundShape>& best, int n_tiles, int log_blocks, int n_clusters,
                const Parts& parts, const UnitLayout& layout, size_t room) {
  FewShape shape{};
  shape.log_blocks = log_blocks;
  shape.block_parts = div_up(parts.n, 1 << log_blocks);
  shape.column_warps = layout.columns / kColumns;
  for (int part_warps = 1; part_warps <= kMostParts; part_warps *= 2) {
    shape.warp_parts = div_up(shape.block_parts, part_warps);
    shape.part_warps = div_up(shape.block_parts, shape.warp_parts);
    if (shape.tile_warps() > kMostFewWarps) break;
    shape.n_rounds = div_up(n_tiles, std::min(n_tiles, kMostFewWarps / shape.tile_warps()));
    shape.n_slots = div_up(n_tiles, shape.n_rounds);
    if (!shape.is_whole() && shape.n_rounds > 1) continue;
    if (!fill_room<Type, kColumns>(shape, parts, layout, room)) continue;
    const int step_bytes = shape.part_warps * layout.bytes(Type::kHasMinimum);
    const float cost = FewCost::of(shape, parts, n_tiles, layout.columns, step_bytes);
    if (best && cost >= best->cost) continue;
    const int bytes = FewMemory<Type, kColumns>(shape, parts, layout).all();
    best = {cost, shape, n_clusters, static_cast<size_t>(bytes)};
  }
}

}  // namespace parlance::cuda
