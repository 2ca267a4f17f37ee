// A few tokens times quantised weights on GPUs of compute capability 9.0: bound by the speed at which weights
// arrive, and by the instructions that scale sums. A kernel of its own rounds the tokens once for all weights
// (few_tokens.cu), whose bytes blocks copy to shared memory while weights are on their way there
// (few_weights.cuh). A warp goes through tiles of 16 rows: all parts of them along n_in, or some, where there
// are fewer tiles than warps. Lanes unpack what tensor cores take of weights, which multiply integers, and
// scale and add up the sums run after run. The blocks of a cluster have each some parts of the tokens. Where
// several warps have a tile's parts, they leave their sums in the shared memory of one block, which adds them
// up in their order. The sums are those of quantised_gemm.
#include "kernels/cuda/matmul/quantised_few.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "kernels/cuda/matmul/few_sums.cuh"
#include "kernels/cuda/matmul/quantised_row.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kMostWarps = 16;
constexpr int kMostLogBlocks = 2;  // of a cluster: larger ones leave multiprocessors without a block

struct FewProduct {
  CUtensorMap maps[MatmulArgs::kMaxOutputs];  // of the outputs' weights, for FewBoxes
  Products products;
  FewTokens tokens;
  Parts parts;
  FewShape shape;
  MatmulEnd end;
};

// ---- The kernel ----

// Bytes of shared memory, in this order.
template <class Type, int kColumns>
struct FewMemory {
  int stages, tokens, left, scales;

  __host__ __device__ FewMemory(const FewShape& shape, const Parts& parts)
      : stages(shape.n_warps() * shape.n_stages * FewStages<Type>::kStageBytes),
        tokens(OwnTokens<Type, kColumns>::bytes(shape.block_parts * parts.units * kQuantisedUnitValues)),
        left(LeftSums<kColumns>::bytes(shape, parts.n)),
        scales(shape.n_warps() * UnitScales<Type>::kBytes) {}
  __host__ __device__ int all() const { return stages + tokens + left + scales; }
};

// Which parts of which tiles a warp has, and its block.
struct FewPlace {
  const FewProduct& f;
  int rank, cluster, n_clusters;  // of the block in its cluster, and this among them
  int warp, slot;
  int first_part, end_part;  // of the warp
  int first_unit, end_unit;  // of the block

  __device__ explicit FewPlace(const FewProduct& product)
      : f(product),
        rank(blockIdx.x & (f.shape.n_blocks() - 1)),
        cluster(blockIdx.x >> f.shape.log_blocks),
        n_clusters(gridDim.x >> f.shape.log_blocks),
        warp(threadIdx.x / 32),
        slot(warp / f.shape.tile_warps) {
    const FewShape& shape = f.shape;
    const int first = rank * shape.block_parts, end = min(first + shape.block_parts, f.parts.n);
    first_part = min(first + warp % shape.tile_warps * shape.warp_parts, end);
    end_part = min(first_part + shape.warp_parts, end);
    first_unit = first * f.parts.units, end_unit = end_of_part(end - 1);
  }

  __device__ int end_of_part(int part) const {
    return min((part + 1) * f.parts.units, f.products.n_in / kQuantisedUnitValues);
  }
  // Behind the last one where the slot has none in this round.
  __device__ int tile(int round, int of_slot) const {
    return (round * f.shape.n_slots + of_slot) * n_clusters + cluster;
  }
  __device__ WarpUnits units() const {
    return {first_part * f.parts.units, end_of_part(end_part - 1), tile(0, slot),
            f.shape.n_slots * n_clusters};
  }
};

// Adds up, of the columns that this block does so with, those of a round, when the cluster's blocks have left
// them.
template <int kColumns>
__device__ void finish_round(const FewPlace& place, const LeftSums<kColumns>& left, int round) {
  const FewShape& shape = place.f.shape;
  const Products& p = place.f.products;
  const int n_columns = shape.n_slots * kColumns;
  for (int of_block = place.warp;; of_block += shape.n_warps()) {
    const int i = (of_block << shape.log_blocks) + place.rank, tile = place.tile(round, i / kColumns);
    const bool exists = i < n_columns && tile < p.n_tiles;
    // What sums are added to is on its way while others are waited for.
    const ColumnEnd column(p, place.f.end, min(tile, p.n_tiles - 1), exists ? i % kColumns : kColumns);
    if (of_block == place.warp) wait_for_cluster();
    if (i >= n_columns) return;
    if (!exists) continue;
    float sums[4] = {};
    left.add_up(round, of_block, sums);
    column.store(sums);
  }
}

// Block (cluster and, in it, parts).
template <class Type, int kColumns>
__global__ void __launch_bounds__(32 * kMostWarps, 1) multiply_few(const __grid_constant__ FewProduct f) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(kBoxAlignment) uint4 shared[];
  __shared__ Arrivals arrivals[kMostWarps][kMostFewStages], tokens_there;
  let_next_start();
  const FewShape& shape = f.shape;
  const Products& p = f.products;
  if (!shape.is_whole())
    arrive_in_cluster();  // this block has started: others may write to its shared memory
  const FewPlace place(f);
  const int warp = place.warp;
  const FewMemory<Type, kColumns> sizes(shape, f.parts);
  auto* memory = reinterpret_cast<uint8_t*>(shared);
  FewStages<Type> stages(p, f.maps, place.units(), shape.n_stages,
                         memory + warp * shape.n_stages * FewStages<Type>::kStageBytes, arrivals[warp]);
  const OwnTokens<Type, kColumns> tokens(memory += sizes.stages,
                                         shape.block_parts * f.parts.units * kQuantisedUnitValues);
  const LeftSums<kColumns> left{reinterpret_cast<float4*>(memory += sizes.tokens), f.parts.n, shape.n_slots,
                                shape.log_blocks, shape.n_buffers()};
  const UnitScales<Type> scales{
      reinterpret_cast<float*>((memory += sizes.left) + warp * UnitScales<Type>::kBytes)};
  if (threadIdx.x == 0) tokens_there.init(1);
  __syncthreads();
  wait_for_previous();
  if (warp == 0) {
    const int n_units = max(place.end_unit - place.first_unit, 0);
    tokens.copy(f.tokens, place.first_unit * kQuantisedUnitValues, n_units * kQuantisedUnitValues,
                tokens_there);
  }
  tokens_there.wait(0);

  // All warps of the cluster have as many rounds.
  for (int round = 0; round < shape.n_rounds; ++round) {
    const int tile = place.tile(round, place.slot);
    TileSums<kColumns> total = {};
    for (int of_warp = 0; of_warp < shape.warp_parts; ++of_warp) {
      const int part = place.first_part + of_warp;
      const bool exists = part < place.end_part && tile < p.n_tiles;
      TileSums<kColumns> acc = {};
      for (int unit = part * f.parts.units; exists && unit < place.end_of_part(part); ++unit) {
        const uint8_t* const stage = stages.wait(tile, unit);
        scales.unpack(stages, stage);
        multiply_unit<Type, kColumns>(stages, stage, scales, tokens, (unit - place.first_unit) * kUnitRuns,
                                      acc);
        stages.release();
      }
      if (shape.is_whole()) {
        add_part<kColumns>(total, acc);
        continue;
      }
      if (of_warp == 0 && round == 0) wait_for_cluster();
      if (of_warp == 0 && round > 0) finish_round(place, left, round - 1);
      if (exists) left.leave(round, place.slot, part, acc);
    }
    if (!shape.is_whole()) {
      __syncwarp();
      arrive_in_cluster();
    } else if (tile < p.n_tiles) {
#pragma unroll
      for (int column = 0; column < kColumns; ++column)
        ColumnEnd(p, f.end, tile, column).store(total[column]);
    }
  }
  if (!shape.is_whole()) finish_round(place, left, shape.n_rounds - 1);
#endif
}

// ---- Launching it ----

constexpr size_t kReserved = 4 << 10;  // for what is static, and for small kernels before and behind this one

// How long a block takes, in what a warp's unit takes beside other warps'; of shapes that have room.
struct FewCost {
  static constexpr int kAlone = 5;      // of a unit, where a warp has nothing beside it
  static constexpr int kFewStages = 5;  // more, where a stage is not filled while another is multiplied
  static constexpr int kTokenBytes = 4 << 10;  // that arrive in that time
  static constexpr int kExchange = 5;          // of sums

  static int of(const FewShape& shape, const Parts& parts, int n_tiles, int token_bytes) {
    const int all = n_tiles * shape.block_parts * parts.units;
    const int alone =
        shape.n_rounds * shape.warp_parts * parts.units * (kAlone + (shape.n_stages < 2 ? kFewStages : 0));
    return std::max(all, alone) + token_bytes / kTokenBytes + (shape.is_whole() ? 0 : kExchange);
  }
};

// The best one of blocks that have n_tiles, of clusters of so many. Nothing where there is no room.
template <class Type, int kColumns>
std::optional<std::pair<int, FewShape>> shape_for(int n_tiles, int log_blocks, const Parts& parts,
                                                  size_t room) {
  std::optional<std::pair<int, FewShape>> best;
  for (int tile_warps = 1; tile_warps <= kMostParts; tile_warps *= 2) {
    FewShape shape{};
    shape.log_blocks = log_blocks;
    shape.block_parts = div_up(parts.n, 1 << log_blocks);
    shape.warp_parts = div_up(shape.block_parts, tile_warps);
    shape.tile_warps = div_up(shape.block_parts, shape.warp_parts);
    shape.n_rounds = div_up(n_tiles, std::min(n_tiles, kMostWarps / shape.tile_warps));
    shape.n_slots = div_up(n_tiles, shape.n_rounds);
    shape.n_stages = std::min(kMostFewStages, shape.n_rounds * shape.warp_parts * parts.units);
    const auto bytes = [&] { return static_cast<size_t>(FewMemory<Type, kColumns>(shape, parts).all()); };
    while (shape.n_stages > 0 && bytes() > room) --shape.n_stages;
    if (shape.n_stages == 0) continue;
    const int cost = FewCost::of(shape, parts, n_tiles, FewMemory<Type, kColumns>(shape, parts).tokens);
    if (!best || cost < best->first) best = {cost, shape};
  }
  return best;
}

// As many clusters as run at the same time; none where the GPU has no room for one.
template <class Type, int kColumns>
std::optional<FewShape> shape_of(Stream& stream, const Products& products, const Parts& parts,
                                 int& n_clusters) {
  const size_t room = gpu_of(stream).shared_bytes_per_block - kReserved;
  std::optional<std::pair<int, FewShape>> best;
  for (int log_blocks = 0; 1 << log_blocks <= parts.n && log_blocks <= kMostLogBlocks; ++log_blocks) {
    const Shape alone{.grid = dim3(1u << log_blocks), .block = dim3(32 * kMostWarps), .shared_bytes = room};
    const int n_at_once = clusters_at_once(
        stream, reinterpret_cast<const void*>(multiply_few<Type, kColumns>), alone, 1u << log_blocks);
    if (n_at_once == 0) continue;
    const int n = std::min(n_at_once, products.n_tiles);
    const auto found = shape_for<Type, kColumns>(div_up(products.n_tiles, n), log_blocks, parts, room);
    if (!found || (best && best->first <= found->first)) continue;
    best = found;
    n_clusters = n;
  }
  if (!best) return {};
  return best->second;
}

struct FewLaunch {
  FewProduct product;
  Shape shape;
};

template <class Type, int kColumns>
std::optional<FewLaunch> plan_launch(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  FewLaunch launch{};
  FewProduct& f = launch.product;
  f.products = products_of(args, dtype, kFewRows);
  f.parts = quantised_parts(f.products.n_in);
  f.end = args.end;
  int n_clusters = 0;
  const auto shape = shape_of<Type, kColumns>(stream, f.products, f.parts, n_clusters);
  if (!shape) return {};
  f.shape = *shape;
  launch.shape = {.grid = dim3(static_cast<unsigned>(n_clusters << f.shape.log_blocks)),
                  .block = dim3(static_cast<unsigned>(32 * f.shape.n_warps())),
                  .shared_bytes = static_cast<size_t>(FewMemory<Type, kColumns>(f.shape, f.parts).all())};
  return launch;
}

// Has the outputs' boxes copied.
template <class Type>
void find_boxes(FewProduct& f) {
  const Products& p = f.products;
  for (int i = 0; i < (p.is_gated ? 2 : p.n_outputs); ++i) {
    const Output& output = p.outputs[i];
    f.maps[i] = tensor_map_of({.data = output.weight,
                               .piece_bytes = static_cast<uint64_t>(kUnitBytes<Type>),
                               .n_pieces = static_cast<uint64_t>(p.n_in / kQuantisedUnitValues),
                               .row_bytes = static_cast<uint64_t>(output.row_bytes),
                               .n_rows = static_cast<uint64_t>(output.n_out),
                               .piece_step = 1,
                               .box_pieces = 1,
                               .box_rows = static_cast<uint32_t>(p.is_gated ? kFewRows / 2 : kFewRows)});
  }
}

// Calls visit(struct of the type, columns of tokens).
template <class Visit>
void visit_few(DType dtype, int64_t n_tokens, const Visit& visit) {
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    if (n_tokens <= kColumnTokens) {
      visit.template operator()<Type, 1>();
    } else if (n_tokens <= 2 * kColumnTokens) {
      visit.template operator()<Type, 2>();
    } else {
      visit.template operator()<Type, 4>();
    }
  });
}

int room_for(int64_t n_tokens) {
  int columns = 1;
  while (columns * kColumnTokens < n_tokens) columns *= 2;
  return columns * kColumnTokens;
}

// Whether there is code for these sizes, and for what is asked for on the way in and out.
bool serves(Stream& stream, const FusedMatmulArgs& args) {
  const Tensor& x = args.products.x;
  const int64_t n_in = x.ne[0], n_tokens = x.n_rows();
  if (n_tokens < kFewestQuantisedTokens || n_tokens > kMostQuantisedTokens) return false;
  if (!has_row_kernels(gpu_of(stream).compute_capability) || !has_tensor_maps()) return false;
  if (n_in % kQuantisedUnitValues != 0 || !is_aligned(x) || (args.norm && !is_aligned(args.norm)))
    return false;
  for (int i = 0; i < args.products.n_outputs; ++i) {
    const Tensor& weight = args.products.w[static_cast<size_t>(i)].weight;
    const bool is_block_type = std::ranges::count(kBlockTypes, weight.dtype) > 0;
    const bool is_first_type = weight.dtype == args.products.w[0].weight.dtype;
    if (!is_block_type || !is_aligned(weight)) return false;
    if (args.end != MatmulEnd::store && !is_first_type) return false;
  }
  bool has_room = true;
  for (const DType dtype : kBlockTypes) {
    if (!has_rows_of(args.products, dtype)) continue;
    visit_few(dtype, n_tokens, [&]<class Type, int kColumns>() {
      has_room = has_room && plan_launch<Type, kColumns>(stream, args, dtype).has_value();
    });
  }
  return has_room;
}

}  // namespace

bool run_quantised_few(Stream& stream, const FusedMatmulArgs& args) {
  if (!serves(stream, args)) return false;
  const Tensor& x = args.products.x;
  const FewTokens tokens = round_few(stream, x, args.norm, args.norm_eps, room_for(x.n_rows()));
  for (const DType dtype : kBlockTypes) {
    if (!has_rows_of(args.products, dtype)) continue;
    visit_few(dtype, x.n_rows(), [&]<class Type, int kColumns>() {
      FewLaunch plan = *plan_launch<Type, kColumns>(stream, args, dtype);
      plan.product.tokens = tokens;
      if (FewStages<Type>::kAreBoxes) find_boxes<Type>(plan.product);
      launch_in_clusters(stream, multiply_few<Type, kColumns>, plan.shape,
                         1u << plan.product.shape.log_blocks, plan.product);
    });
  }
  return true;
}

}  // namespace parlance::cuda
