// A few tokens times quantised weights on GPUs of compute capability 9.0: bound by the speed at which weights
// arrive. A block rounds a part of the tokens along n_in for itself, or two, and its warps go through tiles
// of 16 rows, those parts of them, whose next blocks are on their way to shared memory of the warp's own,
// before the tokens are there too. Lanes unpack what tensor cores take of them, which multiply integers, and
// scale and add up the sums run after run. A cluster has all parts: blocks write the sums of theirs to one of
// them, which adds them up in their order. The sums are those of quantised_gemm.
#include "kernels/cuda/matmul/quantised_few.h"

#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/run_sums.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 16;  // of a warp's tile
constexpr int kRowLanes = 32 / kRows;
constexpr int kColumnTokens = 8;  // of a column of tiles
constexpr int kUnitRuns = kQuantisedUnitValues / kRunValues;
constexpr int kRowPad = kPieceBytes;                       // rows of tokens' codes start in different banks
[[maybe_unused]] constexpr int kPieceOfX = 32 * kQuarter;  // values that a warp rounds at once
constexpr int kMostStages = 4, kFewestStages = 2;
constexpr int kMostWarps = 16, kFewestWarps = 8;

// ---- Weights ----

// Of a warp: units of its rows as they are, and of one the scales.
template <class Type>
struct WarpMemory {
  static constexpr int kUnitBytes = kUnitRuns / Type::kBlockRuns * Type::kBlockBytes;  // of a row
  // Eight rows' pieces lie in different banks: an odd number of pieces apart.
  static constexpr int kStride = (staged_bytes(kUnitBytes) / kPieceBytes | 1) * kPieceBytes;
  static constexpr int kHalves = Type::kHalves ? 2 : 1;

  struct Stage {
    alignas(16) uint8_t rows[kRows][kStride];
  };
  struct Scales {
    float steps[kUnitRuns * kHalves][kRows];
    float minimums[Type::kHasMinimum ? kUnitRuns * kHalves : 1][kRows];
  };
};

// How far behind a multiple of 16 bytes this lane's row of a unit begins, for rows lane % kRows.
template <class Type>
__device__ int past_piece_of(const Products& p, int tile, int unit) {
  return bytes_past_piece(find_row(p, tile, kRows, static_cast<int>(threadIdx.x) % kRows) +
                          unit * WarpMemory<Type>::kUnitBytes);
}

// Whether units of rows begin at multiples of 16 bytes where rows do. Then it is known when compiled where in
// a stage everything lies.
template <class Type>
constexpr bool kHasWholeUnits = WarpMemory<Type>::kUnitBytes % kPieceBytes == 0;

// Where run `run` of a row begins in a stage.
template <class Type, bool kIsAligned>
__device__ auto find_block(const typename WarpMemory<Type>::Stage& stage, int row, int past_piece, int run) {
  const int at = run / Type::kBlockRuns * Type::kBlockBytes;
  if constexpr (kIsAligned) {
    return BytesAt{stage.rows[row], at};
  } else {
    return stage.rows[row] + past_piece + at;
  }
}

// Where a warp's copies are: a unit of a tile.
template <class Type, bool kIsAligned>
struct UnitsAhead {
  using Memory = WarpMemory<Type>;
  // Lanes that share a row's pieces: few where all have to be found, many where their lines are to be whole.
  static constexpr int kLanes = kIsAligned ? 8 : kRowLanes, kAtOnce = 32 / kLanes;

  const Products& p;
  const int begin, end;  // units of the part
  const int stride;      // from a tile to the warp's next one
  int tile, unit;
  const uint8_t* rows[kRows / kAtOnce];  // of this lane

  __device__ UnitsAhead(const Products& products, int first_unit, int end_unit, int first_tile,
                        int tile_stride)
      : p(products), begin(first_unit), end(end_unit), stride(tile_stride), tile(first_tile), unit(begin) {
    find_rows();
  }

  __device__ void copy(typename Memory::Stage& stage) {
    if (tile < p.n_tiles) {
      const int lane = threadIdx.x % kLanes, row = threadIdx.x / kLanes, at = unit * Memory::kUnitBytes;
      const int n_row = p.n_in / (Type::kBlockRuns * kRunValues) * Type::kBlockBytes;
      const int n = min(Memory::kUnitBytes, n_row - at);
#pragma unroll
      for (int i = 0; i < kRows / kAtOnce; ++i) {
        uint8_t* const to = stage.rows[row + i * kAtOnce];
        if (kIsAligned && n == Memory::kUnitBytes) {
#pragma unroll
          for (int piece = 0; piece < Memory::kUnitBytes; piece += kLanes * kPieceBytes) {
            const int place = piece + lane * kPieceBytes;
            if (place < Memory::kUnitBytes) copy_piece(to + place, rows[i] + at + place, kPieceBytes);
          }
        } else if constexpr (kIsAligned) {
#pragma unroll
          for (int piece = 0; piece < Memory::kUnitBytes; piece += kLanes * kPieceBytes) {
            const int place = piece + lane * kPieceBytes;
            if (place < n) copy_piece(to + place, rows[i] + at + place, min(kPieceBytes, n - place));
          }
        } else {
          stage_bytes<Memory::kUnitBytes, kLanes>(to, rows[i] + at, n, lane);
        }
      }
      if (++unit == end) {
        unit = begin;
        tile += stride;
        find_rows();
      }
    }
    end_copy_group();
  }

 private:
  __device__ void find_rows() {
    if (tile >= p.n_tiles) return;
#pragma unroll
    for (int i = 0; i < kRows / kAtOnce; ++i)
      rows[i] = find_row(p, tile, kRows, static_cast<int>(threadIdx.x) / kLanes + i * kAtOnce);
  }
};

// Unpacks the scales of the n runs of a unit of each row; those of runs that do not exist are zero.
template <class Type>
__device__ void unpack_scales(const typename WarpMemory<Type>::Stage& stage, int past_piece, int n,
                              typename WarpMemory<Type>::Scales& scales) {
  constexpr int kHalves = WarpMemory<Type>::kHalves;
  const int lane = threadIdx.x, r = lane % kRows;
#pragma unroll
  for (int i = 0; i < kUnitRuns / kRowLanes; ++i) {
    const int run = i * kRowLanes + lane / kRows;
    Run w{};
    if (run < n)
      Type::unpack_scales(find_block<Type, false>(stage, r, past_piece, run), run % Type::kBlockRuns, w);
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      scales.steps[run * kHalves + half][r] = w.step[half];
      if constexpr (Type::kHasMinimum) scales.minimums[run * kHalves + half][r] = w.minimum[half];
    }
  }
}

// ---- Tokens ----

// A block's part of the tokens. codes: rows of `stride` bytes; steps and sums as those of GemmActivations.
template <class Type, int kColumns>
struct Tokens {
  static constexpr int kTokens = kColumns * kColumnTokens;
  uint8_t* codes;
  float* steps;  // [runs, kTokens]
  float2* sums;  // [runs, kTokens], for types with minimums
  int stride;

  __host__ __device__ static size_t bytes(int n_values) {
    const int n_runs = n_values / kRunValues;
    return static_cast<size_t>(kTokens) *
           (static_cast<size_t>(n_values + kRowPad) +
            static_cast<size_t>(n_runs) * (sizeof(float) + (Type::kHasMinimum ? sizeof(float2) : 0)));
  }

  __device__ Tokens(uint8_t* memory, int n_values)
      : codes(memory),
        steps(reinterpret_cast<float*>(memory + kTokens * (n_values + kRowPad))),
        sums(reinterpret_cast<float2*>(steps + kTokens * (n_values / kRunValues))),
        stride(n_values + kRowPad) {}

  // By all warps: n_padded values of each token, of which n exist; tokens that do not exist are zero.
  __device__ void round(const float* x, int64_t n_in, int n, int n_padded, int n_tokens) const {
    constexpr int kAtOnce = 4, kShift = 20;
    const int lane = threadIdx.x, n_pieces = n_padded / kPieceOfX, n_all = kTokens * n_pieces;
    const int n_warps = static_cast<int>(blockDim.y);
    const int inverse = (1 << kShift) / n_pieces + 1;  // exact: there are fewer than 2^20 / n_pieces
    const auto token_of = [&](int piece) { return piece * inverse >> kShift; };
    for (int first = threadIdx.y; first < n_all; first += kAtOnce * n_warps) {
      float4 values[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int piece = first + i * n_warps, token = token_of(piece);
        const int at = (piece - token * n_pieces) * kPieceOfX + lane * kQuarter;
        const bool exists = piece < n_all && token < n_tokens && at < n;
        values[i] = exists ? *reinterpret_cast<const float4*>(x + token * n_in + at) : float4{};
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int piece = first + i * n_warps, token = token_of(piece);
        if (piece >= n_all) break;
        store(token, (piece - token * n_pieces) * kPieceOfX + lane * kQuarter, quantised_run(values[i]));
      }
    }
  }

 private:
  __device__ void store(int token, int at, const QuantisedRun& run) const {
    *reinterpret_cast<uint32_t*>(codes + token * stride + at) = run.codes;
    const int second_sum = __shfl_down_sync(kAllLanes, run.half_sum, kRunLanes / 2);
    if (threadIdx.x % kRunLanes != 0) return;
    steps[at / kRunValues * kTokens + token] = run.step;
    if constexpr (Type::kHasMinimum)
      sums[at / kRunValues * kTokens + token] = {run.step * static_cast<float>(run.half_sum),
                                                 run.step * static_cast<float>(second_sum)};
  }
};

// What a warp has of a tile and a part: 8 tokens for each column.
template <int kColumns>
using TileSums = float[kColumns][4];

// Adds a unit to the sums. `first_run`: its place among the block's; past_pieces: of rows g and g + 8.
template <class Type, int kColumns, bool kIsAligned>
__device__ void multiply_unit(const typename WarpMemory<Type>::Stage& stage, const int (&past_pieces)[2],
                              const typename WarpMemory<Type>::Scales& scales,
                              const Tokens<Type, kColumns>& x, int first_run, TileSums<kColumns>& acc) {
  constexpr int kHalves = WarpMemory<Type>::kHalves, kTokens = kColumns * kColumnTokens;
  const int lane = threadIdx.x, g = lane / 4, i = lane % 4;
#pragma unroll
  for (int run = 0; run < kUnitRuns; ++run) {
    uint32_t a[4], b[(kColumns + 1) / 2][4];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      uint32_t words[2];
      Type::unpack_words(find_block<Type, kIsAligned>(stage, g + 8 * e, past_pieces[e], run),
                         run % Type::kBlockRuns, i, words);
      a[e] = words[0], a[e + 2] = words[1];
    }
    const uint8_t* const codes = x.codes + (first_run + run) * kRunValues;
    if constexpr (kColumns == 1) {
      load_matrices(b[0], codes + lane % 8 * x.stride + lane / 8 % 2 * kPieceBytes);
    } else {
#pragma unroll
      for (int two = 0; two < kColumns / 2; ++two)
        load_matrices(b[two], codes + two * 2 * kColumnTokens * x.stride + offset_in_b(lane, x.stride));
    }
    float steps[kHalves][2], minimums[kHalves][2] = {};
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        steps[half][e] = scales.steps[run * kHalves + half][g + 8 * e];
        if constexpr (Type::kHasMinimum) minimums[half][e] = scales.minimums[run * kHalves + half][g + 8 * e];
      }
    }
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int at = (first_run + run) * kTokens + column * kColumnTokens + 2 * i;
      const float2 x_steps = *reinterpret_cast<const float2*>(x.steps + at);
      float4 x_sums{};
      if constexpr (Type::kHasMinimum) x_sums = *reinterpret_cast<const float4*>(x.sums + at);
      const uint32_t(&of_pair)[4] = b[column / 2];
      add_run<Type>(acc[column], a, of_pair[column % 2 * 2], of_pair[column % 2 * 2 + 1], steps, minimums,
                    x_steps, x_sums);
    }
  }
}

// ---- Sums of parts ----

// What becomes of a tile's sums, of which a lane has one for a pair of tokens. In a gated product the tile's
// upper rows, which every other two lanes have, are gates of the lower ones.
struct TileEnd {
  const Products& p;
  const Output& output;
  int row;  // of this lane
  bool is_gate, is_up;
  MatmulEnd end;

  __device__ TileEnd(const Products& products, int tile, MatmulEnd end_of_rows)
      : p(products), output(output_of_tile(products, tile)), end(end_of_rows) {
    const int lane = threadIdx.x, of_half = lane / 4, half = lane % 4 / 2;
    const int of_tile = tile - output.first_tile;
    is_gate = p.is_gated && half == 0, is_up = p.is_gated && half == 1;
    row = p.is_gated ? of_tile * (kRows / 2) + of_half : of_tile * kRows + of_half + half * 8;
  }

  // Null where nothing is stored.
  __device__ float* place(int pair) const {
    const int token = 2 * pair + static_cast<int>(threadIdx.x) % 2;
    if (row >= output.n_out || token >= p.n_tokens || is_up) return nullptr;
    return output.out + static_cast<int64_t>(token) * output.n_out + row;
  }
  // What the sum is added to.
  __device__ float load(int pair) const {
    const float* const from = end == MatmulEnd::add ? place(pair) : nullptr;
    return from ? *from : 0.0f;
  }
  // By the whole warp.
  __device__ void store(int pair, float before, float sum) const {
    const float* const bias = (is_up ? p.outputs[1] : output).bias;
    float value = sum + (bias && row < output.n_out ? bias[row] : 0.0f);
    if (p.is_gated) value = silu(value) * __shfl_xor_sync(kAllLanes, value, 2);
    float* const to = place(pair);
    if (to) *to = end == MatmulEnd::add ? before + value : value;
  }
};

// Where blocks leave the sums of their parts for those that add them up, in their shared memory. Of a tile,
// each block of a cluster has some pairs of tokens. Where warps have several tiles, twice, so that those of a
// round are read while the next ones are computed.
template <int kColumns>
struct LeftSums {
  static constexpr int kPairs = kColumns * kColumnTokens / 2, kValues = 32;  // of a pair
  float* of_warps;  // [n_buffers][warps][pairs of a block][n_parts][kValues]
  int n_parts, n_blocks, n_buffers, n_warps;

  __host__ __device__ static int pairs_of_block(int n_blocks) { return (kPairs + n_blocks - 1) / n_blocks; }
  __host__ __device__ static int values(int n_warps, int n_parts, int n_blocks, int n_buffers) {
    return n_buffers * n_warps * pairs_of_block(n_blocks) * n_parts * kValues;
  }

  __device__ float* at(int round, int pair, int part) const {
    const int warp = round % n_buffers * n_warps + static_cast<int>(threadIdx.y);
    return of_warps + ((warp * pairs_of_block(n_blocks) + pair / n_blocks) * n_parts + part) * kValues;
  }

  __device__ void leave(int round, int part, const TileSums<kColumns>& sums, int n_tokens) const {
    const int lane = threadIdx.x;
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int pair = column * 4 + lane % 4;
      if (2 * pair >= n_tokens) continue;
      const float(&of)[4] = sums[column];
      store_in_block(at(round, pair, part) + lane / 4 * 4, static_cast<unsigned>(pair % n_blocks),
                     make_float4(of[0], of[1], of[2], of[3]));
    }
  }

  // Of the pairs of block `block`: adds up the parts of a tile. `before`: what the first pair's are added to.
  __device__ void finish(int round, int block, const TileEnd& tile, float before) const {
    for (int pair = block; 2 * pair < tile.p.n_tokens; pair += n_blocks) {
      const float* const left = at(round, pair, 0) + threadIdx.x;
      float sum = 0;
#pragma unroll
      for (int part = 0; part < kMostParts; ++part) {
        if (part < n_parts) sum = add_part(sum, left[part * kValues]);
      }
      tile.store(pair, pair == block ? before : tile.load(pair), sum);
    }
  }
};

// ---- The kernel ----

// Warps of a block, how many tiles each has, and stages.
struct BlockShape {
  int n_warps, n_rounds, n_stages;

  __host__ __device__ int n_buffers() const { return n_rounds > 1 ? 2 : 1; }
};

// Until all but the last n_stages - 1 groups of copies are there.
[[maybe_unused]] __device__ void wait_for_stage(int n_stages) {
  switch (n_stages) {
    case 2:
      return wait_for_copies<1>();
    case 3:
      return wait_for_copies<2>();
    default:
      return wait_for_copies<kMostStages - 1>();
  }
}

// Parts of a block. Clusters of four leave fewer multiprocessors without a block than those of eight.
__host__ __device__ inline int parts_of_block(const Parts& parts) {
  return parts.n == kMostParts ? 2 : 1;
}

// Block (cluster and, in it, parts), of 32 lanes by warps. Shared memory: scales of all warps, their stages,
// sums, tokens.
template <class Type, int kColumns, bool kIsAligned>
__global__ void __launch_bounds__(32 * kMostWarps, 1)
    multiply_few(const __grid_constant__ Products p, const float* x, MatmulEnd end_of_rows, const Parts parts,
                 const BlockShape shape) {
#if __CUDA_ARCH__ >= 900
  using Memory = WarpMemory<Type>;
  extern __shared__ uint4 shared[];
  let_next_start();
  arrive_in_cluster();  // that this block has started: others may write to its shared memory
  const int own_parts = parts_of_block(parts), n_blocks = parts.n / own_parts;
  const int block = blockIdx.x % n_blocks, cluster = blockIdx.x / n_blocks, n_clusters = gridDim.x / n_blocks;
  const int begin = block * own_parts * parts.units;
  const int end =
      min(begin + own_parts * parts.units, (p.n_in + kQuantisedUnitValues - 1) / kQuantisedUnitValues);
  const int warp = threadIdx.y, first_tile = warp * n_clusters + cluster;
  const int n_warps = shape.n_warps, n_stages = shape.n_stages, tiles_at_once = n_warps * n_clusters;
  auto* const all_scales = reinterpret_cast<typename Memory::Scales*>(shared);
  auto* const all_stages = reinterpret_cast<typename Memory::Stage*>(all_scales + n_warps);
  typename Memory::Scales& scales = all_scales[warp];
  typename Memory::Stage* const stages = all_stages + warp * n_stages;
  const LeftSums<kColumns> left{reinterpret_cast<float*>(all_stages + n_warps * n_stages), parts.n, n_blocks,
                                shape.n_buffers(), n_warps};
  const int n_own = own_parts * parts.units * kQuantisedUnitValues, first = begin * kQuantisedUnitValues;
  const Tokens<Type, kColumns> tokens(
      reinterpret_cast<uint8_t*>(left.of_warps +
                                 LeftSums<kColumns>::values(n_warps, parts.n, n_blocks, left.n_buffers)),
      n_own);
  UnitsAhead<Type, kIsAligned> ahead(p, begin, end, first_tile, tiles_at_once);
  for (int i = 0; i < n_stages - 1; ++i) ahead.copy(stages[i]);
  wait_for_previous();
  tokens.round(x + first, p.n_in, min(n_own, p.n_in - first), n_own, p.n_tokens);
  __syncthreads();

  // All warps of the cluster have as many rounds, and by turns one block's add up a round's.
  const auto finish_round = [&](int round) {
    const int tile = first_tile + round * tiles_at_once;
    const TileEnd end_of_tile(p, min(tile, p.n_tiles - 1), end_of_rows);
    const float before = end_of_tile.load(block);
    wait_for_cluster();
    if (tile < p.n_tiles) left.finish(round, block, end_of_tile, before);
  };
  const int lane = threadIdx.x;
  int stage = 0;
  for (int round = 0; round < shape.n_rounds; ++round) {
    const int tile = first_tile + round * tiles_at_once;
    TileSums<kColumns> sums[2] = {};  // of this block's parts
    if (tile < p.n_tiles) {
      for (int unit = begin; unit < end; ++unit) {
        ahead.copy(stages[stage == 0 ? n_stages - 1 : stage - 1]);
        wait_for_stage(n_stages);
        __syncwarp();
        int past_piece = 0, past_pieces[2] = {};
        if constexpr (!kIsAligned) {
          past_piece = past_piece_of<Type>(p, tile, unit);
          for (int e = 0; e < 2; ++e) past_pieces[e] = __shfl_sync(kAllLanes, past_piece, lane / 4 + 8 * e);
        }
        unpack_scales<Type>(stages[stage], past_piece, p.n_in / kRunValues - unit * kUnitRuns, scales);
        __syncwarp();
        // With a place known when compiled, the sums stay in registers.
        const int at = (unit - begin) * kUnitRuns;
        if (unit - begin < parts.units) {
          multiply_unit<Type, kColumns, kIsAligned>(stages[stage], past_pieces, scales, tokens, at, sums[0]);
        } else {
          multiply_unit<Type, kColumns, kIsAligned>(stages[stage], past_pieces, scales, tokens, at, sums[1]);
        }
        __syncwarp();
        stage = stage + 1 == n_stages ? 0 : stage + 1;
      }
    }
    if (round > 0) {
      finish_round(round - 1);
    } else {
      wait_for_cluster();
    }
    __syncwarp();
    if (tile < p.n_tiles) {
      left.leave(round, block * own_parts, sums[0], p.n_tokens);
      if (own_parts > 1) left.leave(round, block * own_parts + 1, sums[1], p.n_tokens);
    }
    __syncwarp();
    arrive_in_cluster();
  }
  finish_round(shape.n_rounds - 1);
#endif
}

template <class Type, int kColumns>
size_t shared_bytes_of(const BlockShape& shape, const Parts& parts) {
  using Memory = WarpMemory<Type>;
  const auto n_warps = static_cast<size_t>(shape.n_warps);
  const int own_parts = parts_of_block(parts);
  return n_warps * (sizeof(typename Memory::Scales) +
                    static_cast<size_t>(shape.n_stages) * sizeof(typename Memory::Stage)) +
         sizeof(float) * static_cast<size_t>(LeftSums<kColumns>::values(
                             shape.n_warps, parts.n, parts.n / own_parts, shape.n_buffers())) +
         Tokens<Type, kColumns>::bytes(own_parts * parts.units * kQuantisedUnitValues);
}

// Of a block that has n_tiles: as many warps as leave few without a tile in their last round, with as many
// weights on their way as there is room for. Without stages where nothing has room.
template <class Type, int kColumns>
BlockShape shape_for(int n_tiles, const Parts& parts, size_t room) {
  BlockShape best{};
  for (int n = kMostWarps; n >= kFewestWarps; --n) {
    BlockShape shape{n, div_up(n_tiles, n), kMostStages};
    while (shape.n_stages >= kFewestStages && shared_bytes_of<Type, kColumns>(shape, parts) > room)
      --shape.n_stages;
    if (shape.n_stages < kFewestStages) continue;
    const int n_slots = n * shape.n_rounds, n_best = best.n_warps * best.n_rounds;
    if (best.n_stages == 0 || 12 * n_slots < 11 * n_best) best = shape;
  }
  return best;
}

// As many clusters as run at the same time. False where the GPU has no room for one.
template <class Type, int kColumns, bool kIsAligned>
bool launch_few(Stream& stream, const FusedMatmulArgs& args, const Products& products, const Parts& parts) {
  constexpr size_t kReserved = 1 << 10,
                   kRoomForOthers = 2 << 10;  // for small kernels before and behind this one
  const size_t room = gpu_of(stream).shared_bytes_per_block - kReserved - kRoomForOthers;
  const auto kernel = multiply_few<Type, kColumns, kIsAligned>;
  const auto n_blocks = static_cast<unsigned>(parts.n / parts_of_block(parts));
  const auto launched = [&](const BlockShape& shape) {
    return Shape{.grid = dim3(n_blocks),
                 .block = dim3(32, static_cast<unsigned>(shape.n_warps)),
                 .shared_bytes = shared_bytes_of<Type, kColumns>(shape, parts)};
  };
  const BlockShape alone = shape_for<Type, kColumns>(1, parts, room);
  if (alone.n_stages == 0) return false;
  const int n_at_once =
      clusters_at_once(stream, reinterpret_cast<const void*>(kernel), launched(alone), n_blocks);
  if (n_at_once == 0) return false;
  const int n_clusters = std::min(n_at_once, products.n_tiles);
  const BlockShape shape = shape_for<Type, kColumns>(div_up(products.n_tiles, n_clusters), parts, room);
  if (shape.n_stages == 0) return false;
  Shape all = launched(shape);
  all.grid.x *= static_cast<unsigned>(n_clusters);
  launch_in_clusters(stream, kernel, all, n_blocks, products, args.products.x.as<const float>(), args.end,
                     parts, shape);
  return true;
}

bool has_aligned_rows(const Products& products) {
  for (int i = 0; i < (products.is_gated ? 2 : products.n_outputs); ++i) {
    const Output& output = products.outputs[i];
    if (output.row_bytes % kPieceBytes != 0 || reinterpret_cast<uintptr_t>(output.weight) % kPieceBytes != 0)
      return false;
  }
  return true;
}

}  // namespace

bool quantised_few(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kRows);
  if (products.n_tokens < kFewestQuantisedTokens || products.n_tokens > kMostQuantisedTokens ||
      gpu_of(stream).compute_capability < 90 || !has_code_for_clusters())
    return false;
  const Parts parts = quantised_parts(products.n_in);
  bool is_done = false;
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const auto run = [&](auto is_aligned) {
      constexpr bool kIsAligned = decltype(is_aligned)::value;
      const auto launched = products.n_tokens <= 8    ? launch_few<Type, 1, kIsAligned>
                            : products.n_tokens <= 16 ? launch_few<Type, 2, kIsAligned>
                                                      : launch_few<Type, 4, kIsAligned>;
      return launched(stream, args, products, parts);
    };
    if constexpr (kHasWholeUnits<Type>) {
      is_done = has_aligned_rows(products) ? run(std::true_type{}) : run(std::false_type{});
    } else {
      is_done = run(std::false_type{});
    }
  });
  return is_done;
}

}  // namespace parlance::cuda
