// One token times quantised weights: bound by the speed at which weights arrive, and in small models by how
// long a kernel takes from the moment that its token is there. So everything but that happens before: weights
// are on their way to shared memory (weight_stages.cuh). Each block normalises the token, where that is asked
// for, and rounds it for itself: that takes less than a launch. Tiles of rows go round the blocks, then round
// their warps (row_tiles.cuh).
#include "kernels/cuda/matmul/quantised_row.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/matmul/weight_stages.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

// Warps of a block: as many as normalise the token or, where they have many tiles, which take long to
// multiply, or the token is long, as registers allow.
constexpr int kWarps = 8;
// Longer tokens take all of them to round.
constexpr int kLongToken = 4096;
// Of a thread, at most. The compiler takes 64 where it is told how many threads there are, and spills.
constexpr int kRegisters = 96;

struct RowProduct {
  RowWeights weights;
  TokenLayout token;
  const float *x, *norm;
  float eps;
  MatmulEnd end;
};

// A warp's tile, and what becomes of the row that a lane has a part of: known before the token is there,
// where what says it may have to be waited for.
struct TileEnd {
  Tile tile;
  bool is_stored, is_added;
  float* to;
  float bias;

  // Behind the last tile, there is none to store.
  __device__ TileEnd(const RowProduct& product, const LanePlace& place, const WarpTiles& tiles)
      : TileEnd(product, place, tiles.tile(), product.weights.products.outputs[tiles.output()]) {}
  // What the row is added to.
  __device__ float before() const { return is_stored && is_added ? *to : 0.0f; }

 private:
  __device__ TileEnd(const RowProduct& product, const LanePlace& place, int number, const Output& output)
      : tile(product.weights.products, product.weights.shape, number, output) {
    const Products& p = product.weights.products;
    const int row = tile.first_row + place.of_strip;
    const bool exists = place.exists(tile);
    is_stored = place.strip == 0 && place.part == 0 && exists;
    is_added = product.end == MatmulEnd::add;
    to = output.out + row;
    const float* const biases = (place.strip == 0 ? output : p.outputs[1]).bias;
    bias = biases && exists ? biases[row] : 0.0f;
  }
};

// Multiplies a warp's tile, and stores what comes of it.
template <class Type, class Stages>
__device__ void multiply_tile(const RowProduct& product, const LanePlace& place, const TileEnd& end,
                              float before, const RoundedToken<kOffsetOf<Type>>& token, Stages& stages) {
  const RowShape& shape = product.weights.shape;
  float sum = 0;
  const int at_once = Stages::kAreBoxes ? 1 : shape.units_at_once;
  for (int first = 0; first < shape.part_units; first += at_once) {
    const uint8_t* own = stages.wait(place, end.tile, first);
    const int n = min(at_once, place.n_units - first);
    for (int i = 0; i < n; ++i, own += kUnitBytes<Type>)
      add_unit<Type>(sum, own, token.codes(place.part, (first + i) * kUnitRuns),
                     token.scale(place.part, (first + i) * kUnitRuns));
    stages.release();
  }
  float parts[kMostParts], total = 0;
  int from = threadIdx.x % 32 - (place.part << shape.log_strip_rows);  // of the row's lanes
#pragma unroll
  for (float& part : parts) part = __shfl_sync(kAllLanes, sum, from), from += shape.strip_rows();
#pragma unroll
  for (int of = 0; of < kMostParts; ++of) total = of < shape.n_parts ? add_part(total, parts[of]) : total;
  float value = total + end.bias;
  if (product.weights.products.is_gated) value = silu(value) * __shfl_down_sync(kAllLanes, value, 16);
  if (end.is_added) value = before + value;
  if (end.is_stored) *end.to = value;
}

// Shared memory: the token, then the warps' stages.
template <class Type, class Stages>
__global__ void __maxnreg__(kRegisters) multiply_row(const __grid_constant__ RowProduct product) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(kBoxAlignment) uint4 shared[];
  __shared__ float partial[kMostRowLanes / 32];
  __shared__ Arrivals arrivals[kMostRowWarps][kMostRowStages];
  let_next_start();
  const RowWeights& w = product.weights;
  const StagePlan& plan = w.stages;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto* const memory = reinterpret_cast<uint8_t*>(shared);
  const RoundedToken<kOffsetOf<Type>> token(memory, product.token);
  Stages stages(w, memory + token.layout.bytes() + warp * plan.n_stages * plan.stage_bytes, arrivals[warp]);
  const LanePlace place(w.shape, lane);
  WarpTiles tiles(w);
  TileEnd end(product, place, tiles);
  float before = 0;
  round_token(
      token, product.x, w.products.n_in, product.norm, product.eps, partial,
      [&] {
        wait_for_previous();
        before = end.before();
      },
      [&] { stages.look(); });
  __syncthreads();
  if (!tiles.has_more()) return;
  while (true) {
    multiply_tile<Type>(product, place, end, before, token, stages);
    tiles.advance();
    if (!tiles.has_more()) return;
    end = TileEnd(product, place, tiles);
    before = end.before();
  }
#endif
}

// Of a lane, that arrive together, about: larger copies take the memory that other warps might have.
constexpr int kFewBytes = 300, kManyBytes = 640;

template <class Type>
RowShape row_shape(int n_in, MatmulEnd end) {
  const Parts parts = quantised_parts(n_in);
  RowShape shape{};
  shape.n_units = n_in / kQuantisedUnitValues;
  shape.n_parts = parts.n;
  shape.part_units = parts.units;
  while (1 << shape.log_part_lanes < parts.n) ++shape.log_part_lanes;
  shape.strips = end == MatmulEnd::gate ? 2 : 1;
  shape.log_strip_rows = 5 - shape.log_part_lanes - (shape.strips - 1);
  return shape;
}

// How many of a lane's units arrive together, and what room they have: an odd number of pieces where they are
// whole ones, so that lanes' units are in different banks.
template <class Type, class Stages>
void set_units(RowShape& shape, int bytes_at_once) {
  shape.units_at_once = kHasWholePieces<Type> && !Stages::kAreBoxes
                            ? std::clamp(bytes_at_once / kUnitBytes<Type>, 1, shape.part_units)
                            : 1;
  while (shape.part_units % shape.units_at_once != 0) --shape.units_at_once;
  shape.lane_bytes = Stages::kAreBoxes ? kUnitBytes<Type>
                     : kHasWholePieces<Type>
                         ? (shape.units_at_once * kUnitBytes<Type> / kPieceBytes | 1) * kPieceBytes
                         : (kUnitPieces<Type> | 1) * kPieceBytes;
}

// As many warps and stages as there is room for beside the token. False where there is no room.
template <class Stages>
bool plan_stages(StagePlan& plan, size_t room, int n_tiles, int n_steps) {
  const auto n = static_cast<int>(room / static_cast<size_t>(plan.stage_bytes));
  const int most_warps = n_tiles > kWarps ? kMostRowWarps : kWarps;
  plan.n_warps = std::min(std::clamp(n / Stages::kWanted, kWarps, most_warps), n_tiles);
  plan.n_stages = std::min({n / plan.n_warps, div_up(n_steps, plan.n_warps), Stages::kMostStages});
  return plan.n_stages > 0;
}

struct Launch {
  RowProduct product;
  Shape shape;
};

// A block for each multiprocessor, or tile. A kernel before may have few blocks that take their time
// (attention behind few keys). They keep their multiprocessors to themselves, where that is little more for
// the others: if blocks of this kernel had to wait for these, the one behind it could not start before.
int blocks_for(Stream& stream, int n_tiles) {
  constexpr int kManyTiles = 6;  // of a multiprocessor
  constexpr int kFewPart = 16;   // of the multiprocessors
  const int n = gpu_of(stream).n_multiprocessors;
  const int64_t n_before = blocks_before(stream);
  const bool leaves_some = n_before * kFewPart <= n && n_tiles >= kManyTiles * n;
  return std::min(n_tiles, leaves_some ? n - static_cast<int>(n_before) : n);
}

// Nothing where there is no room.
template <class Type, class Stages>
std::optional<Launch> plan_launch(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  constexpr size_t kRoomForOthers = 2 << 10;
  const auto n_in = static_cast<int>(args.products.x.ne[0]);
  Launch launch{};
  launch.product.x = args.products.x.as<const float>();
  launch.product.norm = args.norm.as<const float>();
  launch.product.eps = args.norm_eps;
  launch.product.end = args.end;
  RowWeights& w = launch.product.weights;
  w.shape = row_shape<Type>(n_in, args.end);
  w.products = products_of(args, dtype, w.shape.tile_rows());
  const int n_blocks = blocks_for(stream, w.products.n_tiles);
  const int n_tiles = div_up(w.products.n_tiles, n_blocks);  // of a block
  set_units<Type, Stages>(w.shape, n_tiles > kWarps ? kFewBytes : kManyBytes);
  StagePlan& plan = w.stages;
  plan.stage_bytes = w.shape.stage_bytes();
  launch.product.token = token_layout(w.shape);
  const auto token_bytes = static_cast<size_t>(launch.product.token.bytes());
  const size_t all = shared_bytes_of_blocks(gpu_of(stream), 1), taken = token_bytes + kRoomForOthers;
  const int n_steps = n_tiles * (w.shape.part_units / w.shape.units_at_once);
  if (all < taken || !plan_stages<Stages>(plan, all - taken, n_tiles, n_steps)) return {};
  launch.shape.grid = dim3(static_cast<unsigned>(n_blocks));
  launch.shape.takes_most_shared = true;
  launch.shape.block =
      dim3(static_cast<unsigned>(32 * (n_in > kLongToken ? kMostRowWarps : std::max(kWarps, plan.n_warps))));
  launch.shape.shared_bytes =
      token_bytes + static_cast<size_t>(plan.n_warps * plan.n_stages * plan.stage_bytes);
  return launch;
}

// Has the outputs' boxes copied.
template <class Type>
void find_boxes(RowWeights& w) {
  const int n = w.products.is_gated ? 2 : w.products.n_outputs;
  for (int i = 0; i < n; ++i) {
    const Output& output = w.products.outputs[i];
    w.maps[i] = tensor_map_of({.data = output.weight,
                               .piece_bytes = static_cast<uint64_t>(kUnitBytes<Type>),
                               .n_pieces = static_cast<uint64_t>(w.shape.n_units),
                               .row_bytes = static_cast<uint64_t>(output.row_bytes),
                               .n_rows = static_cast<uint64_t>(output.n_out),
                               .piece_step = static_cast<uint32_t>(w.shape.part_units),
                               .box_pieces = 1u << w.shape.log_part_lanes,
                               .box_rows = static_cast<uint32_t>(w.shape.strip_rows())});
  }
}

// Calls visit(the stages that weights of these rows come in, as a type).
template <class Type, class Visit>
auto visit_stages(int64_t n_in, const Visit& visit) {
  if constexpr (kHasWholePieces<Type>) {
    const bool are_boxes =
        has_tensor_maps() && quantised_parts(static_cast<int>(n_in)).units <= static_cast<int>(kMostBoxStep);
    return are_boxes ? visit.template operator()<BoxStages<Type>>()
                     : visit.template operator()<LaneStages<Type>>();
  } else {
    return visit.template operator()<PieceStages<Type>>();
  }
}

// Whether the kernel has code for these sizes, and for what is asked for on the way in and out.
bool serves(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Tensor& x = args.products.x;
  if (!has_row_kernels(gpu_of(stream).compute_capability)) return false;
  if (x.n_rows() != 1 || x.ne[0] % kQuantisedUnitValues != 0 || !is_aligned(x)) return false;
  if (args.norm && !is_aligned(args.norm)) return false;
  for (int i = 0; i < args.products.n_outputs; ++i) {
    const Tensor& weight = args.products.w[static_cast<size_t>(i)].weight;
    if (weight.dtype == dtype ? !is_aligned(weight) : args.end != MatmulEnd::store) return false;
  }
  bool has_room = false;
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    has_room = visit_stages<Type>(
        x.ne[0], [&]<class Stages>() { return plan_launch<Type, Stages>(stream, args, dtype).has_value(); });
  });
  return has_room;
}

}  // namespace

bool has_row_kernels(int compute_capability) {
  return has_code_for_clusters() && compute_capability >= 90;
}

bool run_quantised_row(Stream& stream, const FusedMatmulArgs& args) {
  const auto has = [&](DType dtype) { return has_rows_of(args.products, dtype); };
  for (const DType dtype : kBlockTypes) {
    if (has(dtype) && !serves(stream, args, dtype)) return false;
  }
  for (const DType dtype : kBlockTypes) {
    if (!has(dtype)) continue;
    visit_block_type(dtype, [&](auto type) {
      using Type = decltype(type);
      visit_stages<Type>(args.products.x.ne[0], [&]<class Stages>() {
        Launch plan = *plan_launch<Type, Stages>(stream, args, dtype);
        if (Stages::kAreBoxes) find_boxes<Type>(plan.product.weights);
        launch(stream, multiply_row<Type, Stages>, plan.shape, plan.product);
      });
    });
  }
  return true;
}

}  // namespace parlance::cuda
