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
#include "kernels/cuda/matmul/rounded_token.cuh"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/matmul/run_terms.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

// Warps of a block: as many as normalise the token or, where they have many tiles, which take long to
// multiply, or the token is long, as registers allow.
constexpr int kWarps = 8, kMostWarps = 16;
// Longer tokens take all of them to round.
constexpr int kLongToken = 4096;
// Of a thread, at most. The compiler takes 64 where it is told how many threads there are, and spills.
constexpr int kRegisters = 96;
constexpr int kUnitRuns = kQuantisedUnitValues / kRunValues;
constexpr int kMostStages = 4;

template <class Type>
constexpr int kUnitBytes = kUnitRuns / Type::kBlockRuns* Type::kBlockBytes;

// Whether a unit becomes registers by loads of 16 bytes.
template <class Type>
constexpr bool kHasWholePieces = kUnitBytes<Type> % kPieceBytes == 0;

// Pieces of a unit that begins anywhere.
template <class Type>
constexpr int kUnitPieces = staged_bytes(kUnitBytes<Type>) / kPieceBytes;

// How a stage is filled: by one copy of a whole tile, whose lanes' parts lie side by side; piece by piece, a
// piece of room between parts of an even number of them, which are then in different banks; or by a copy for
// each lane.
enum class Filling : uint8_t { tiles, pieces, lanes };

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
  Filling filling;
  int inverse_pieces;  // of a lane's pieces: a quotient is a product and a shift

  static constexpr int kShift = 20;
  __host__ __device__ int stage_bytes() const { return 32 * lane_bytes; }
  // Whether a tile's lanes have what lies one behind the other.
  bool has_whole_rows() const {
    return units_at_once == part_units && n_parts * part_units == n_units && n_parts == 1 << log_part_lanes;
  }
};

template <class Type>
constexpr int kOffsetOf = [] {
  if constexpr (requires { Type::kOffset; }) {
    return Type::kOffset;
  } else {
    return 0;
  }
}();

__host__ __device__ inline TokenLayout token_layout(const RowShape& shape) {
  return TokenLayout(shape.part_units * kUnitRuns, shape.n_parts);
}

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

// What fills a warp's stages, where units are whole pieces: copies of whole tiles, piece by piece where
// lanes' parts are to lie apart, or of each lane's units.
template <class Type>
struct UnitCopies {
  const RowShape& shape;
  const LanePlace& place;
  int row_bytes;
  Arrivals* arrivals;  // of the warp's stages

  __device__ void init() {
    const int lane = threadIdx.x % 32;
    if (lane < shape.n_stages) arrivals[lane].init(shape.filling == Filling::pieces ? 32 : 1);
    __syncwarp();
  }
  __device__ void start(const Tile& tile, int unit, uint8_t* stages, int stage) const {
    const int lane = threadIdx.x % 32;
    uint8_t* const to = stages + stage * shape.stage_bytes();
    const int strip_bytes = tile.n_rows * row_bytes;  // that there are
    if (shape.filling == Filling::tiles) {
      if (lane != 0) return;
      arrivals[stage].arrive_before(static_cast<uint32_t>(strip_bytes * shape.strips));
      for (int strip = 0; strip < shape.strips; ++strip)
        arrivals[stage].copy(to + strip * shape.strip_rows * row_bytes, tile.strip(strip),
                             static_cast<uint32_t>(strip_bytes));
      return;
    }
    if (shape.filling == Filling::pieces) {
      const int strip_pieces = shape.strip_rows * row_bytes / kPieceBytes;
      const uint8_t* const second = tile.second_strip - strip_pieces * kPieceBytes;
#pragma unroll 4
      for (int i = lane; i < shape.strips * strip_pieces; i += 32) {
        const bool is_first = i < strip_pieces;
        const int at = i * kPieceBytes, of_strip = is_first ? at : at - strip_pieces * kPieceBytes;
        if (of_strip < strip_bytes)
          copy_piece(to + at + (i * shape.inverse_pieces >> RowShape::kShift) * kPieceBytes,
                     (is_first ? tile.first_strip : second) + at);
      }
      arrivals[stage].arrive_behind_copies();
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
  __device__ void wait(int stage, int phase) const {
    arrivals[stage].wait(phase);
  }
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

// sum + the products of four unsigned bytes and four signed ones.
__device__ inline int dot_of_unsigned(uint32_t a, uint32_t b, int sum) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}

template <class Type>
__device__ void add_run(float& sum, const Run& w, const uint8_t* x_codes, const RunScale& x_scale) {
  const uint4 a = reinterpret_cast<const uint4*>(x_codes)[0], b = reinterpret_cast<const uint4*>(x_codes)[1];
  const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  float2 terms[kTerms<Type>];
  multiply_run<Type>(w, words, x_scale, terms);
#pragma unroll
  for (int term = 0; term < kTerms<Type>; ++term) sum = fmaf(terms[term].x, terms[term].y, sum);
}

// The same of a run whose nibbles are taken as they are: x_scale has what they are too much by.
__device__ inline void add_nibbles(float& sum, const uint32_t (&low)[4], const uint32_t (&high_times_16)[4],
                                   float step, const uint8_t* x_codes, const RunScale& x_scale) {
  const uint4 a = reinterpret_cast<const uint4*>(x_codes)[0], b = reinterpret_cast<const uint4*>(x_codes)[1];
  const uint32_t first[4] = {a.x, a.y, a.z, a.w}, second[4] = {b.x, b.y, b.z, b.w};
  int of_low = x_scale.half_sums, of_high = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    of_low = __dp4a(static_cast<int>(low[i]), static_cast<int>(first[i]), of_low);
    of_high = dot_of_unsigned(high_times_16[i], second[i], of_high);
  }
  sum = fmaf(static_cast<float>(of_low + (of_high >> 4)), __fmul_rn(step, x_scale.step), sum);
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
      if constexpr (kOffsetOf<Type> != 0) {
        uint32_t low[4], high[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) load_raw_nibbles(at_word(block + 2, i), low[i], high[i]);
        add_nibbles(sum, low, high, load_f16(block), x_codes + run * kRunValues, x_scales[run]);
      } else {
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

// Tiles go round the blocks, then round their warps. Shared memory: the token, then stages.
template <class Type>
__global__ void __maxnreg__(kRegisters)
    multiply_row(const __grid_constant__ Products p, const float* x, const float* norm, float eps,
                 MatmulEnd end, const __grid_constant__ RowShape shape) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  __shared__ float partial[kMostRowLanes / 32];
  __shared__ Arrivals arrivals[kMostWarps][kMostStages];
  let_next_start();
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  auto* const memory = reinterpret_cast<uint8_t*>(shared);
  const RoundedToken<kOffsetOf<Type>> token(memory, token_layout(shape));
  uint8_t* const stages = memory + token.layout.bytes() + warp * shape.n_stages * shape.stage_bytes();
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
  round_token(token, x, p.n_in, norm, eps, partial, [] { wait_for_previous(); });
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
  int n_blocks, n_threads;
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
  const int lane_pieces = shape.units_at_once * kUnitBytes<Type> / kPieceBytes;
  shape.inverse_pieces = (1 << RowShape::kShift) / lane_pieces + 1;
  shape.filling = !shape.has_whole_rows() ? Filling::lanes
                  : lane_pieces % 2 != 0  ? Filling::tiles
                                          : Filling::pieces;
  constexpr size_t kRoomForOthers = 2 << 10;
  const auto token_bytes = static_cast<size_t>(token_layout(shape).bytes());
  const size_t all = shared_bytes_of_blocks(gpu, 1);
  const auto bytes_of_round = [&] { return static_cast<size_t>(shape.n_warps * shape.stage_bytes()); };
  while (shape.n_warps > kWarps && all < kRoomForOthers + token_bytes + kFewestStages * bytes_of_round())
    shape.n_warps -= 2;
  const size_t round_bytes = bytes_of_round();
  if (all < kRoomForOthers + token_bytes + round_bytes) return {};
  const size_t room = std::min(all - kRoomForOthers - token_bytes, kEnoughBytes);
  const int n_steps = div_up(tiles_of_block, shape.n_warps) * (parts.units / shape.units_at_once);
  shape.n_stages = std::clamp(static_cast<int>(room / round_bytes), 1, std::min(n_steps, kMostStages));
  const int n_warps = n_in > kLongToken ? kMostWarps : std::max(kWarps, shape.n_warps);
  return Launch{shape, products, n_blocks, 32 * n_warps,
                token_bytes + round_bytes * static_cast<size_t>(shape.n_stages)};
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % kPieceBytes == 0;
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
              .block = dim3(static_cast<unsigned>(plan.n_threads)),
              .shared_bytes = plan.shared_bytes},
             plan.products, args.products.x.as<const float>(), args.norm.as<const float>(), args.norm_eps,
             args.end, plan.shape);
    });
  }
  return true;
}

}  // namespace parlance::cuda
