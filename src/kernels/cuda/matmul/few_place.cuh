// What the kernel for a few tokens with quantised weights is given, and what of it a warp has.
#pragma once

#include "kernels/cuda/matmul/few_shape.cuh"

namespace parlance::cuda {

struct FewProduct {
  CUtensorMap maps[MatmulArgs::kMaxOutputs];  // of the outputs' weights, for FewBoxes
  Products products;
  FewTokens tokens;
  Parts parts;
  FewShape shape;
  MatmulEnd end;
};

// Which parts and columns of which tiles a warp has, and its block.
struct FewPlace {
  const FewProduct& f;
  int rank, cluster, n_clusters;  // of the block in its cluster, and this among them
  int warp, slot, part_warp;
  int first_column;
  int first_part, end_part;              // of the warp
  int first_block_part, end_block_part;  // of the block

  __device__ explicit FewPlace(const FewProduct& product)
      : f(product),
        rank(blockIdx.x & (f.shape.n_blocks() - 1)),
        cluster(blockIdx.x >> f.shape.log_blocks),
        n_clusters(gridDim.x >> f.shape.log_blocks),
        warp(threadIdx.x / 32) {
    const FewShape& shape = f.shape;
    slot = warp / shape.tile_warps();
    part_warp = warp % shape.tile_warps() / shape.column_warps;
    first_column = warp % shape.column_warps * (f.tokens.layout.columns / shape.column_warps);
    first_block_part = min(rank * shape.block_parts, f.parts.n);
    end_block_part = min(first_block_part + shape.block_parts, f.parts.n);
    first_part = min(first_block_part + part_warp * shape.warp_parts, end_block_part);
    end_part = min(first_part + shape.warp_parts, end_block_part);
  }

  __device__ int end_of_part(int part) const {
    return min((part + 1) * f.parts.units, f.products.n_in / kQuantisedUnitValues);
  }
  // Behind the last one where the slot has none in this round.
  __device__ int tile(int round) const { return (round * f.shape.n_slots + slot) * n_clusters + cluster; }
  __device__ WarpUnits units() const {
    return {first_part * f.parts.units, end_of_part(end_part - 1), tile(0), f.shape.n_slots * n_clusters};
  }
  // By all warps.
  __device__ void start(const TokenSteps& steps) const {
    const FewShape& shape = f.shape;
    steps.start(part_warp, slot * shape.column_warps + warp % shape.column_warps,
                shape.n_slots * shape.column_warps);
  }
  __device__ TokenSteps steps(int unit_bytes, uint8_t* memory, TokenSteps::Counters& counters) const {
    const FewShape& shape = f.shape;
    const int first_unit = first_block_part * f.parts.units, end_unit = end_of_part(end_block_part - 1);
    const int unit_step = shape.warp_parts * f.parts.units;
    return {.tokens = f.tokens,
            .n_steps = max(min(unit_step, end_unit - first_unit), 0),
            .first_unit = first_unit,
            .end_unit = end_unit,
            .n_units = shape.part_warps,
            .unit_step = unit_step,
            .n_stages = shape.n_steps,
            .n_warps = shape.n_warps(),
            .unit_bytes = unit_bytes,
            .memory = memory,
            .counters = counters};
  }
};

}  // namespace parlance::cuda
