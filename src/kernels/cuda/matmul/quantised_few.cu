// A few tokens times quantised weights on GPUs of compute capability 9.0: bound by the speed at which weights
// arrive, and by the instructions that scale sums. A kernel of its own rounds the tokens once for all weights
// (few_tokens.cu), whose bytes all warps of a block then meet step by step (few_steps.cuh), while each has
// weights of its own on their way (few_weights.cuh). A warp goes through tiles of 16 rows: all parts of them
// along n_in, or some, where there are fewer tiles than warps; with all columns of tokens, or some. Lanes
// unpack what tensor cores take of weights, which multiply integers, and scale and add up the sums run after
// run. Where several warps have a tile's parts, they leave their sums in the shared memory of one block of
// the cluster, which adds them up in their order. The sums are those of quantised_gemm.
#include "kernels/cuda/matmul/quantised_few.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cuda/matmul/few_place.cuh"
#include "kernels/cuda/matmul/quantised_row.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

// ---- The kernel ----

// The sums of a tile whose parts a warp has all of, which are added up.
template <int kColumns>
__device__ void store_whole(const FewPlace& place, int tile, const SumsAside<kColumns>& aside) {
  constexpr int kAtOnce = kColumns < 4 ? kColumns : 4;  // what these are added to is on its way
  const TileEnd end(place.f.products, place.f.end, tile);
#pragma unroll 1
  for (int first = 0; first < kColumns; first += kAtOnce) {
    float4 before[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) before[i] = end.before(place.first_column + first + i);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      float sums[4];
      aside.get(0, first + i, sums);
      end.store(place.first_column + first + i, sums, before[i]);
    }
  }
}

// A warp's parts of a tile, for those who add them up.
template <int kColumns>
__device__ void leave_parts(const FewPlace& place, const LeftSums& left, const SumsAside<kColumns>& aside,
                            const TileSums<kColumns>& last) {
  const int first_column = place.slot * place.f.tokens.layout.columns + place.first_column;
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
    for (int part = place.first_part; part + 1 < place.end_part; ++part) {
      float sums[4];
      aside.get(part - place.first_part, column, sums);
      left.leave(first_column + column, part, sums);
    }
    if (place.first_part < place.end_part)
      left.leave(first_column + column, place.end_part - 1, last[column]);
  }
}

// Adds up what the cluster's warps have left, of the columns that this block does so with, whose warps share
// them.
[[maybe_unused]] __device__ void add_up_left(  // not by code for older GPUs
    const FewPlace& place, const LeftSums& left) {
  const FewShape& shape = place.f.shape;
  const Products& p = place.f.products;
  const int tile_columns = place.f.tokens.layout.columns, n_columns = shape.n_slots * tile_columns;
  for (int of_block = place.warp;; of_block += shape.n_warps()) {
    const int i = (of_block << shape.log_blocks) + place.rank;
    const int tile = i / tile_columns * place.n_clusters + place.cluster;
    const bool exists = i < n_columns && tile < p.n_tiles;
    // What sums are added to is on its way while others are waited for.
    const TileEnd end(p, place.f.end, min(tile, p.n_tiles - 1));
    const float4 before = exists ? end.before(i % tile_columns) : float4{};
    if (of_block == place.warp) wait_for_cluster();
    if (i >= n_columns) return;
    if (!exists) continue;
    float sums[4] = {};
    left.add_up(of_block, sums);
    end.store(i % tile_columns, sums, before);
  }
}

// Block (cluster and, in it, parts).
template <class Type, int kColumns>
__global__ void __launch_bounds__(32 * kMostFewWarps, 1) multiply_few(const __grid_constant__ FewProduct f) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(kBoxAlignment) uint4 shared[];
  __shared__ Arrivals arrivals[kMostFewWarps][kMostFewStages];
  __shared__ TokenSteps::Counters counters;
  let_next_start();
  const FewShape& shape = f.shape;
  const Products& p = f.products;
  const FewPlace place(f);
  const int warp = place.warp;
  const FewMemory<Type, kColumns> sizes(shape, f.parts, f.tokens.layout);
  auto* memory = reinterpret_cast<uint8_t*>(shared);
  const SumsAside<kColumns> aside{
      reinterpret_cast<float4*>(memory + warp * SumsAside<kColumns>::bytes(shape.n_aside()))};
  const LeftSums left{reinterpret_cast<float4*>(memory += sizes.aside), f.parts.n, shape.log_blocks};
  FewStages<Type> stages(p, f.maps, place.units(), shape.n_stages,
                         memory + warp * shape.n_stages * FewStages<Type>::kStageBytes, arrivals[warp]);
  const TokenSteps steps =
      place.steps(f.tokens.layout.bytes(Type::kHasMinimum), memory += sizes.stages, *kept_pointer(&counters));
  const UnitScales<Type> scales{
      reinterpret_cast<float*>((memory += sizes.steps) + warp * UnitScales<Type>::kBytes)};
  steps.init(threadIdx.x);
  __syncthreads();
  wait_for_previous();
  place.start(steps);

  TakenSteps taken(steps, shape.n_rounds);
  const int first_unit = place.first_part * f.parts.units, end_unit = place.end_of_part(place.end_part - 1);
  TileSums<kColumns> sums = {};
  for (int round = 0; round < shape.n_rounds; ++round) {
    const int tile = place.tile(round);
    if (shape.is_whole()) aside.put(0, sums);
    int part = 0, end_of_part = first_unit + f.parts.units;
    for (int step = 0; step < steps.n_steps; ++step) {
      const uint8_t* const of_tokens = taken.wait(place.part_warp);
      const int unit = first_unit + step;
      if (tile < p.n_tiles && unit < end_unit) {
        if (unit == end_of_part) {
          if (shape.is_whole()) {
            aside.add(sums);
          } else {
            aside.put(part, sums);
          }
          clear<kColumns>(sums);
          ++part, end_of_part += f.parts.units;
        }
        const uint8_t* const stage = stages.wait(tile, unit);
        scales.unpack(stages, stage);
        multiply_unit<Type, kColumns>(
            stages, stage, scales, UnitTokens<Type, kColumns>(of_tokens, f.tokens.layout, place.first_column),
            sums);
        stages.release();
      }
      taken.release();
    }
    if (!shape.is_whole() || tile >= p.n_tiles) continue;
    aside.add(sums);
    store_whole(place, tile, aside);
    clear<kColumns>(sums);
  }
  if (shape.is_whole()) return;
  // All tiles are of one round. Sums lie where others read weights and tokens before.
  __syncwarp();
  arrive_in_cluster();
  wait_for_cluster();
  if (place.tile(0) < p.n_tiles) leave_parts(place, left, aside, sums);
  __syncwarp();
  arrive_in_cluster();
  add_up_left(place, left);
#endif
}

// ---- Launching it ----

constexpr size_t kReserved = 5 << 10;  // for what is static, and for small kernels before and behind this one

// As many clusters as run at the same time; none where the GPU has no room for one.
template <class Type, int kColumns>
std::optional<FoundShape> shape_of(Stream& stream, const Products& products, const Parts& parts,
                                   const UnitLayout& layout) {
  const size_t room = gpu_of(stream).shared_bytes_per_block - kReserved;
  std::optional<FoundShape> best;
  for (int log_blocks = 0; 1 << log_blocks <= parts.n && log_blocks <= kMostLogFewBlocks; ++log_blocks) {
    const Shape alone{
        .grid = dim3(1u << log_blocks), .block = dim3(32 * kMostFewWarps), .shared_bytes = room};
    const int n_at_once = clusters_at_once(
        stream, reinterpret_cast<const void*>(multiply_few<Type, kColumns>), alone, 1u << log_blocks);
    if (n_at_once == 0) continue;
    const int n_clusters = std::min(n_at_once, products.n_tiles);
    find_shape<Type, kColumns>(best, div_up(products.n_tiles, n_clusters), log_blocks, n_clusters, parts,
                               layout, room);
  }
  return best;
}

struct FewLaunch {
  void (*kernel)(FewProduct);
  void (*find_boxes)(FewProduct&);
  FewProduct product;
  Shape shape;
};

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

int columns_for(int64_t n_tokens) {
  int columns = 1;
  while (columns * kColumnTokens < n_tokens) columns *= 2;
  return columns;
}

// Nothing where the GPU has no room.
template <class Type>
std::optional<FewLaunch> plan_launch(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  FewLaunch launch{};
  FewProduct& f = launch.product;
  f.products = products_of(args, dtype, kFewRows);
  f.parts = quantised_parts(f.products.n_in);
  f.end = args.end;
  const UnitLayout layout{columns_for(args.products.x.n_rows())};
  std::optional<FoundShape> best;
  const auto try_columns = [&]<int kColumns>() {
    if (layout.columns % kColumns != 0) return;
    const auto found = shape_of<Type, kColumns>(stream, f.products, f.parts, layout);
    if (!found || (best && best->cost <= found->cost)) return;
    best = found;
    launch.kernel = multiply_few<Type, kColumns>;
  };
  try_columns.template operator()<8>();
  try_columns.template operator()<4>();
  try_columns.template operator()<2>();
  try_columns.template operator()<1>();
  if (!best) return {};
  f.shape = best->shape;
  if (FewStages<Type>::kAreBoxes) launch.find_boxes = find_boxes<Type>;
  launch.shape = {.grid = dim3(static_cast<unsigned>(best->n_clusters << f.shape.log_blocks)),
                  .block = dim3(static_cast<unsigned>(32 * f.shape.n_warps())),
                  .shared_bytes = best->shared_bytes};
  return launch;
}

// Whether there is code for these sizes, and for what is asked for on the way in and out.
bool has_code(Stream& stream, const FusedMatmulArgs& args) {
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
  return true;
}

}  // namespace

bool run_quantised_few(Stream& stream, const FusedMatmulArgs& args) {
  if (!has_code(stream, args)) return false;
  std::vector<FewLaunch> launches;
  for (const DType dtype : kBlockTypes) {
    if (!has_rows_of(args.products, dtype)) continue;
    std::optional<FewLaunch> launch;
    visit_block_type(dtype, [&](auto type) { launch = plan_launch<decltype(type)>(stream, args, dtype); });
    if (!launch) return false;
    launches.push_back(*launch);
  }
  const Tensor& x = args.products.x;
  const FewTokens tokens = round_few(stream, x, args.norm, args.norm_eps, columns_for(x.n_rows()));
  for (FewLaunch& launch : launches) {
    launch.product.tokens = tokens;
    if (launch.find_boxes) launch.find_boxes(launch.product);
    launch_in_clusters(stream, launch.kernel, launch.shape, 1u << launch.product.shape.log_blocks,
                       launch.product);
  }
  return true;
}

}  // namespace parlance::cuda
