// One token times quantised weights: bound by the speed at which weights arrive, and in small models by how
// long a kernel takes from the moment that its token is there. So everything but that happens before: weights
// are on their way to shared memory as they are. Each block normalises the token, where that is asked for,
// and rounds it for itself: that takes less than a launch. A lane of a warp has a part of a row, whose runs
// it takes one after the other, so that the sums are those of quantised_gemv; lanes next to each other have
// the parts of a row. A warp goes through tiles of rows unit by unit, of which it has some ahead.
#include "kernels/cuda/matmul/quantised_row.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/checked.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/run_terms.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

// Warps of a block: as many as normalise the token or, where they have many tiles, which take long to
// multiply, as registers allow.
constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int kMostWarps = 16;
constexpr int kUnitRuns = kQuantisedUnitValues / kRunValues;
constexpr int kMostStages = 4;
constexpr int kHeldQuads = 8;  // of a thread, where the token is normalised
constexpr int kMostNormed = kHeldQuads * kQuad * kThreads;
static_assert(kThreads == kLaneQuads);

template <class Type>
constexpr int kUnitBytes = kUnitRuns / Type::kBlockRuns* Type::kBlockBytes;

// Whether a unit becomes registers by loads of 16 bytes.
template <class Type>
constexpr bool kHasWholePieces = kUnitBytes<Type> % kPieceBytes == 0;

// Pieces of a unit that begins anywhere.
template <class Type>
constexpr int kUnitPieces = staged_bytes(kUnitBytes<Type>) / kPieceBytes;

// How lanes share the rows of a tile, and warps a block's tiles.
struct RowShape {
  int n_units;             // of a row
  int n_parts;             // of a row
  int part_units;          // of a part; the last one may have fewer
  int log_part_lanes;      // of a row's lanes: as many as the power of two from n_parts on
  int strips, strip_rows;  // of a tile: rows of one weight; two where gates meet what they let through
  int units_at_once;       // of a lane, that arrive together
  int lane_bytes;         // what they take in shared memory: an odd number of pieces, if units are whole ones
  int n_warps, n_stages;  // of the warps that have tiles

  __host__ __device__ int stage_bytes() const { return 32 * lane_bytes; }
  // Whether a tile's lanes have what lies one behind the other.
  __host__ __device__ bool is_dense(int unit_bytes) const {
    return units_at_once == part_units && n_parts * part_units == n_units && n_parts == 1 << log_part_lanes &&
           lane_bytes == units_at_once * unit_bytes;
  }
};

// The token as bytes. Parts begin in different banks.
struct RoundedToken {
  uint8_t* memory;
  int part_runs, n_parts;
  int inverse;  // of part_runs: see inverse_of()

  static constexpr int kShift = 20;
  __host__ __device__ static int inverse_of(int part_runs) { return (1 << kShift) / part_runs + 1; }

  __host__ __device__ static int bytes(const RowShape& shape) {
    const int n = shape.n_parts * shape.part_units * kUnitRuns;
    return (n * (kRunValues + static_cast<int>(sizeof(RunScale))) +
            shape.n_parts * (kPieceBytes + static_cast<int>(sizeof(RunScale))) + kPieceBytes - 1) /
           kPieceBytes * kPieceBytes;
  }
  __device__ uint8_t* codes(int part, int run) const {
    return memory + (part * part_runs + run) * kRunValues + part * kPieceBytes;
  }
  __device__ RunScale* scale(int part, int run) const {
    auto* const scales =
        reinterpret_cast<RunScale*>(memory + n_parts * (part_runs * kRunValues + kPieceBytes));
    return scales + part * part_runs + run + part;
  }

  // Whole warps, of which each lane has a quad; eight a run.
  __device__ void store(int quad, const float4& values) const {
    const QuantisedRun rounded = quantised_run(values);
    const int second_sum = __shfl_down_sync(kAllLanes, rounded.half_sum, kRunLanes / 2);
    const int run = quad / kRunLanes, in_run = quad % kRunLanes;
    const int part = run * inverse >> kShift, of_part = run - part * part_runs;
    reinterpret_cast<uint32_t*>(codes(part, of_part))[in_run] = rounded.codes;
    if (in_run == 0) *scale(part, of_part) = {rounded.step, (rounded.half_sum & 0xffff) | second_sum << 16};
  }
};

// A warp's tile: rows from first_row on of one output, or of both that meet.
struct Tile {
  int first_row, n_rows;
  const uint8_t *first_strip, *second_strip;

  __device__ Tile(const Products& p, const RowShape& shape, int tile) {
    const Output& output = output_of_tile(p, tile);
    first_row = (tile - output.first_tile) * shape.strip_rows;
    n_rows = min(shape.strip_rows, output.n_out - first_row);
    first_strip = output.weight + first_row * output.row_bytes;
    second_strip = p.is_gated ? p.outputs[1].weight + first_row * output.row_bytes : nullptr;
  }
  __device__ const uint8_t* strip(int i) const { return i == 0 ? first_strip : second_strip; }
};

// A lane's part of a tile.
struct LanePlace {
  int part, strip, of_strip, n_units;  // units that it has, and the row of the strip

  __device__ LanePlace(const RowShape& shape, int lane) {
    part = lane & ((1 << shape.log_part_lanes) - 1);
    const int row = lane >> shape.log_part_lanes;
    strip = row >= shape.strip_rows ? 1 : 0;
    of_strip = row - strip * shape.strip_rows;
    n_units = part < shape.n_parts ? min(shape.part_units, shape.n_units - part * shape.part_units) : 0;
  }
  __device__ bool exists(const Tile& tile) const { return of_strip < tile.n_rows; }
  template <class Type>
  __device__ const uint8_t* find(const RowShape& shape, const Tile& tile, int row_bytes, int unit) const {
    return tile.strip(strip) + of_strip * row_bytes + (part * shape.part_units + unit) * kUnitBytes<Type>;
  }
};

// What fills a warp's stages, where units are whole pieces: copies of a lane's units, or of whole tiles.
template <class Type>
struct UnitCopies {
  const RowShape& shape;
  const LanePlace& place;
  int row_bytes;
  Arrivals* arrivals;  // of the warp's stages

  __device__ void init() {
    const int lane = threadIdx.x % 32;
    if (lane < shape.n_stages) arrivals[lane].init(1);
    __syncwarp();
  }
  __device__ void start(const Tile& tile, int unit, uint8_t* stages, int stage) const {
    const int lane = threadIdx.x % 32;
    uint8_t* const to = stages + stage * shape.stage_bytes();
    if (shape.is_dense(kUnitBytes<Type>)) {
      if (lane != 0) return;
      const int n = tile.n_rows * row_bytes;
      arrivals[stage].arrive_before(static_cast<uint32_t>(n * shape.strips));
      for (int strip = 0; strip < shape.strips; ++strip)
        arrivals[stage].copy(to + strip * shape.strip_rows * row_bytes, tile.strip(strip),
                             static_cast<uint32_t>(n));
      return;
    }
    const int n_units = place.exists(tile) ? max(min(shape.units_at_once, place.n_units - unit), 0) : 0;
    const auto n = static_cast<unsigned>(n_units * kUnitBytes<Type>);
    const unsigned n_all = __reduce_add_sync(kAllLanes, n);
    if (lane == 0) arrivals[stage].arrive_before(n_all);
    __syncwarp();
    if (n > 0)
      arrivals[stage].copy(to + lane * shape.lane_bytes,
                           place.template find<Type>(shape, tile, row_bytes, unit), n);
  }
  __device__ void start_nothing() const {}
  __device__ void wait(int stage, int phase) const { arrivals[stage].wait(phase); }
};

// The same where units begin anywhere: one at once, in the pieces that hold it, by lanes next to each other.
template <class Type>
struct PieceCopies {
  const RowShape& shape;
  const LanePlace& place;
  int row_bytes;
  Arrivals* arrivals;

  __device__ void init() {}
  __device__ void start(const Tile& tile, int unit, uint8_t* stages, int stage) const {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = lane; i < 32 * kUnitPieces<Type>; i += 32) {
      const int owner = i / kUnitPieces<Type>, at = i % kUnitPieces<Type> * kPieceBytes;
      const LanePlace of_owner(shape, owner);
      if (unit >= of_owner.n_units || !of_owner.exists(tile)) continue;
      const uint8_t* const from = of_owner.template find<Type>(shape, tile, row_bytes, unit);
      const int before = bytes_past_piece(from), n = min(kPieceBytes, before + kUnitBytes<Type> - at);
      if (n > 0)
        copy_piece(stages + stage * shape.stage_bytes() + owner * shape.lane_bytes + at, from - before + at,
                   n);
    }
    end_copy_group();
  }
  __device__ void start_nothing() const {
    end_copy_group();
  }
  // Until all but the last n_stages - 1 groups of copies are there.
  __device__ void wait(int, int) const {
    switch (shape.n_stages) {
      case 1:
        wait_for_copies<0>();
        break;
      case 2:
        wait_for_copies<1>();
        break;
      case 3:
        wait_for_copies<2>();
        break;
      default:
        wait_for_copies<kMostStages - 1>();
    }
    __syncwarp();
  }
};

template <class Type>
__device__ void add_run(float& sum, const Run& w, const uint8_t* x_codes, const RunScale& x_scale) {
  const uint4 a = reinterpret_cast<const uint4*>(x_codes)[0], b = reinterpret_cast<const uint4*>(x_codes)[1];
  const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  float2 terms[kTerms<Type>];
  multiply_run<Type>(w, words, x_scale, terms);
#pragma unroll
  for (int term = 0; term < kTerms<Type>; ++term) sum = fmaf(terms[term].x, terms[term].y, sum);
}

// Adds the runs of a unit, one after the other.
template <class Type>
__device__ void add_unit(float& sum, const uint8_t* unit, const uint8_t* x_codes, const RunScale* x_scales) {
  if constexpr (kHasWholePieces<Type>) {
    constexpr int kWords = kUnitBytes<Type> / 4;
    uint32_t words[kWords];
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      const uint4 piece = *reinterpret_cast<const uint4*>(unit + 4 * i);
      words[i] = piece.x, words[i + 1] = piece.y, words[i + 2] = piece.z, words[i + 3] = piece.w;
    }
#pragma unroll
    for (int run = 0; run < kUnitRuns; ++run) {
      const WordsAt<kWords> block{words, run / Type::kBlockRuns * Type::kBlockBytes};
      Run w;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t two[2];
        Type::unpack_words(block, run % Type::kBlockRuns, i, two);
        w.codes[i] = two[0], w.codes[i + 4] = two[1];
      }
      Type::unpack_scales(block, run % Type::kBlockRuns, w);
      add_run<Type>(sum, w, x_codes + run * kRunValues, x_scales[run]);
    }
  } else {
#pragma unroll
    for (int run = 0; run < kUnitRuns; ++run) {
      Run w;
      Type::unpack(unit + run / Type::kBlockRuns * Type::kBlockBytes, run % Type::kBlockRuns, w);
      add_run<Type>(sum, w, x_codes + run * kRunValues, x_scales[run]);
    }
  }
}

// Blocks of kThreads; tiles go round the blocks, then round their warps. Shared memory: the token, then
// stages.
template <class Type>
__global__ void __launch_bounds__(32 * kMostWarps)
    multiply_row(const __grid_constant__ Products p, const float* x, const float* norm, float eps,
                 MatmulEnd end, const __grid_constant__ RowShape shape) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  __shared__ float partial[kMostRowLanes / 32];
  __shared__ Arrivals arrivals[kMostWarps][kMostStages];
  let_next_start();
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  auto* const memory = reinterpret_cast<uint8_t*>(shared);
  const int part_runs = shape.part_units * kUnitRuns;
  const RoundedToken token{memory, part_runs, shape.n_parts, RoundedToken::inverse_of(part_runs)};
  uint8_t* const stages = memory + RoundedToken::bytes(shape) + warp * shape.n_stages * shape.stage_bytes();
  const auto row_bytes = static_cast<int>(p.outputs[0].row_bytes);
  const auto tile_of = [&](int round) {
    return static_cast<int>((round * shape.n_warps + warp) * gridDim.x + blockIdx.x);
  };
  const LanePlace place(shape, lane);
  using Copies = std::conditional_t<kHasWholePieces<Type>, UnitCopies<Type>, PieceCopies<Type>>;
  Copies copies{shape, place, row_bytes, arrivals[warp]};
  copies.init();
  int round_ahead = warp < shape.n_warps ? 0 : 1 << 20, unit_ahead = 0, stage_ahead = 0;
  const auto copy_ahead = [&] {
    if (tile_of(round_ahead) < p.n_tiles) {
      copies.start(Tile(p, shape, tile_of(round_ahead)), unit_ahead, stages, stage_ahead);
    } else {
      copies.start_nothing();
    }
    unit_ahead += shape.units_at_once;
    if (unit_ahead >= shape.part_units) unit_ahead = 0, ++round_ahead;
    if (++stage_ahead == shape.n_stages) stage_ahead = 0;
  };
  for (int i = 0; i < shape.n_stages; ++i) copy_ahead();
  const int n_quads = p.n_in / kQuad;
  const auto* const quads = reinterpret_cast<const float4*>(x);
  if (norm) {
    const int n_own = thread < kThreads ? n_quads : 0;
    float4 weights[kHeldQuads], values[kHeldQuads];
#pragma unroll
    for (int i = 0; i < kHeldQuads; ++i) {
      if (i * kThreads + thread < n_own)
        weights[i] = reinterpret_cast<const float4*>(norm)[i * kThreads + thread];
    }
    wait_for_previous();
#pragma unroll
    for (int i = 0; i < kHeldQuads; ++i) {
      if (i * kThreads + thread < n_own) values[i] = quads[i * kThreads + thread];
    }
    SquaresOfRow squares;
#pragma unroll
    for (int i = 0; i < kHeldQuads; ++i) {
      if (i * kThreads + thread < n_own) squares.add(values[i]);
    }
    if (thread < n_own) squares.leave(thread, partial);
    __syncthreads();
    const float scale = scale_of_squares(partial, p.n_in, eps);
#pragma unroll
    for (int i = 0; i < kHeldQuads; ++i) {
      if (i * kThreads + thread >= n_own) break;
      token.store(i * kThreads + thread, normalised(values[i], scale, weights[i]));
    }
  } else {
    wait_for_previous();
    constexpr int kAtOnce = 4;
    const int n_threads = static_cast<int>(blockDim.x);
    for (int first = thread; first < n_quads; first += kAtOnce * n_threads) {
      float4 values[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * n_threads < n_quads) values[i] = quads[first + i * n_threads];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * n_threads < n_quads) token.store(first + i * n_threads, values[i]);
      }
    }
  }
  __syncthreads();
  if (warp >= shape.n_warps) return;

  int stage = 0, phase = 0;
  for (int round = 0; tile_of(round) < p.n_tiles; ++round) {
    const int number = tile_of(round);
    const Tile tile(p, shape, number);
    const Output& output = output_of_tile(p, number);
    const bool exists = place.exists(tile), is_stored = place.strip == 0 && place.part == 0 && exists;
    float* const to = output.out + tile.first_row + place.of_strip;
    const float before = is_stored && end == MatmulEnd::add ? *to : 0.0f;
    float sum = 0;
    for (int first = 0; first < shape.part_units; first += shape.units_at_once) {
      copies.wait(stage, phase);
      const uint8_t* own = stages + stage * shape.stage_bytes() + lane * shape.lane_bytes;
      if (!kHasWholePieces<Type>)
        own += bytes_past_piece(place.template find<Type>(shape, tile, row_bytes, first));
      const int n = min(shape.units_at_once, place.n_units - first);
      for (int i = 0; i < n; ++i, own += kUnitBytes<Type>)
        add_unit<Type>(sum, own, token.codes(place.part, (first + i) * kUnitRuns),
                       token.scale(place.part, (first + i) * kUnitRuns));
      __syncwarp();
      copy_ahead();
      if (++stage == shape.n_stages) stage = 0, ++phase;
    }
    float total = 0;
#pragma unroll
    for (int of = 0; of < kMostParts; ++of) {
      if (of < shape.n_parts) total = add_part(total, __shfl_sync(kAllLanes, sum, lane - place.part + of));
    }
    const float* const bias = (place.strip == 0 ? output : p.outputs[1]).bias;
    float value = total + (bias && exists ? bias[tile.first_row + place.of_strip] : 0.0f);
    if (p.is_gated) value = silu(value) * __shfl_down_sync(kAllLanes, value, 16);
    if (end == MatmulEnd::add) value = before + value;
    if (is_stored) *to = value;
  }
#endif
}

// Shared memory that stages may have: what keeps enough weights on their way.
constexpr size_t kEnoughBytes = size_t{220} << 10;
constexpr size_t kFewestStages = 1;  // of more warps than kWarps
// Of a lane, that arrive together, about: larger copies take the memory that other warps might have.
constexpr int kFewBytes = 300, kManyBytes = 640;

struct Launch {
  RowShape shape;
  Products products;
  int n_blocks;
  size_t shared_bytes;
};

// Nothing where there is no room.
template <class Type>
std::optional<Launch> plan_launch(const Gpu& gpu, const FusedMatmulArgs& args, DType dtype) {
  const auto n_in = static_cast<int>(args.products.x.ne[0]);
  const Parts parts = quantised_parts(n_in);
  RowShape shape{};
  shape.n_units = n_in / kQuantisedUnitValues;
  shape.n_parts = parts.n;
  shape.part_units = parts.units;
  while (1 << shape.log_part_lanes < parts.n) ++shape.log_part_lanes;
  const int tile_rows = 32 >> shape.log_part_lanes;
  shape.strips = args.end == MatmulEnd::gate ? 2 : 1;
  shape.strip_rows = tile_rows / shape.strips;

  const Products products = products_of(args, dtype, tile_rows);
  const int n_blocks = std::min(products.n_tiles, gpu.n_multiprocessors);
  const int tiles_of_block = div_up(products.n_tiles, n_blocks);
  const bool is_large = tiles_of_block > kWarps;
  const int bytes_at_once = is_large ? kFewBytes : kManyBytes;
  shape.units_at_once =
      kHasWholePieces<Type> ? std::clamp(bytes_at_once / kUnitBytes<Type>, 1, parts.units) : 1;
  while (parts.units % shape.units_at_once != 0) --shape.units_at_once;
  shape.lane_bytes = kHasWholePieces<Type>
                         ? (shape.units_at_once * kUnitBytes<Type> / kPieceBytes | 1) * kPieceBytes
                         : (kUnitPieces<Type> | 1) * kPieceBytes;
  shape.n_warps = std::min(is_large ? kMostWarps : kWarps, tiles_of_block);
  constexpr size_t kRoomForOthers = 2 << 10;
  const auto token_bytes = static_cast<size_t>(RoundedToken::bytes(shape));
  const size_t all = shared_bytes_of_blocks(gpu, 1);
  const auto bytes_of_round = [&] { return static_cast<size_t>(shape.n_warps * shape.stage_bytes()); };
  while (shape.n_warps > kWarps && all < kRoomForOthers + token_bytes + kFewestStages * bytes_of_round())
    shape.n_warps -= 2;
  const size_t round_bytes = bytes_of_round();
  if (all < kRoomForOthers + token_bytes + round_bytes) return {};
  const size_t room = std::min(all - kRoomForOthers - token_bytes, kEnoughBytes);
  const int n_steps = div_up(tiles_of_block, shape.n_warps) * (parts.units / shape.units_at_once);
  shape.n_stages = std::clamp(static_cast<int>(room / round_bytes), 1, std::min(n_steps, kMostStages));
  return Launch{shape, products, n_blocks, token_bytes + round_bytes * static_cast<size_t>(shape.n_stages)};
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % kPieceBytes == 0;
}

// Whether the kernel has code for these sizes, and for what is asked for on the way in and out.
bool serves(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Tensor& x = args.products.x;
  if (!has_row_kernels(gpu_of(stream).compute_capability)) return false;
  if (x.n_rows() != 1 || x.ne[0] % kQuantisedUnitValues != 0 || !is_aligned(x)) return false;
  if (args.norm && (x.ne[0] > kMostNormed || !is_aligned(args.norm))) return false;
  for (int i = 0; i < args.products.n_outputs; ++i) {
    const Tensor& weight = args.products.w[static_cast<size_t>(i)].weight;
    if (weight.dtype == dtype ? !is_aligned(weight) : args.end != MatmulEnd::store) return false;
  }
  bool has_room = false;
  visit_block_type(dtype, [&](auto type) {
    has_room = plan_launch<decltype(type)>(gpu_of(stream), args, dtype).has_value();
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
      const Launch plan = *plan_launch<Type>(gpu_of(stream), args, dtype);
      launch(stream, multiply_row<Type>,
             {.grid = dim3(static_cast<unsigned>(plan.n_blocks)),
              .block = dim3(static_cast<unsigned>(32 * std::max(kWarps, plan.shape.n_warps))),
              .shared_bytes = plan.shared_bytes},
             plan.products, args.products.x.as<const float>(), args.norm.as<const float>(), args.norm_eps,
             args.end, plan.shape);
    });
  }
  return true;
}

}  // namespace parlance::cuda
