// A few tokens times f16 or bf16 weights: bound by the speed at which weights arrive, as one token is. A
// block keeps one part of the tokens along n_in in shared memory, which it rounds itself, and its warps go
// through tiles of rows, that part of them, whose next pieces are on their way to shared memory of the warp's
// own, before the tokens are there too. A cluster has a block for each part: of each tile, every block has
// some tokens, to which all write the sums of their parts, and adds them up in their order. The sums are
// those of half_gemv and half_gemm.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

constexpr int kMmaRows = 16;  // of an instruction
constexpr int kSubtiles = 2;  // of a warp's tile, which share what is loaded of the tokens
constexpr int kRows = kSubtiles * kMmaRows;
constexpr int kColumnTokens = 8;       // of a column of tiles
constexpr int kRowPad = kPieceValues;  // rows of tokens start in different banks

// Of x, a lane holds so many pieces of four while it rounds a token.
constexpr int kFewPieces = 4, kManyPieces = 12;

// A block's part of the tokens, as two floats each. halves: [kHalves][kTokens] rows of `stride` values.
template <int kColumns>
struct Tokens {
  static constexpr int kTokens = kColumns * kColumnTokens;
  uint16_t* halves;
  float* scales;  // of the tokens
  int stride;

  __device__ uint16_t* row(int half, int token) const { return halves + (half * kTokens + token) * stride; }

  // The registers of B of 16 values from `value` on: of the first half and the second, of each column.
  __device__ void load(int value, uint32_t (&b)[kHalves][kColumns][2]) const {
    const int lane = threadIdx.x;
    uint32_t r[4];
    if constexpr (kColumns == 1) {
      load_matrices(r, row(lane / 16, lane % 8) + value + lane / 8 % 2 * kPieceValues);
      b[0][0][0] = r[0], b[0][0][1] = r[1], b[1][0][0] = r[2], b[1][0][1] = r[3];
    } else {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        load_matrices(r, row(half, lane % 8 + lane / 16 * 8) + value + lane / 8 % 2 * kPieceValues);
        b[half][0][0] = r[0], b[half][0][1] = r[1], b[half][1][0] = r[2], b[half][1][1] = r[3];
      }
    }
  }

  // By all warps; tokens that do not exist are zero. `n` values of the part exist, n_part are padded. Calls
  // `meanwhile` while the first values are on their way.
  template <class Half, int kHeld, class Meanwhile>
  __device__ void round(const float* x, int64_t n_in, int n, int n_part, int n_tokens,
                        const Meanwhile& meanwhile) const {
    constexpr bool kHoldsNext = kHeld <= kFewPieces;
    using Part = PartOfX<kHeld, (kHeld > kFewPieces)>;
    const int at_once = static_cast<int>(blockDim.y);
    const auto part_of = [&](int token) { return Part(x + token * n_in, token < n_tokens ? n : 0); };
    Part values = part_of(threadIdx.y);
    Part next = kHoldsNext ? part_of(static_cast<int>(threadIdx.y) + at_once) : values;
    meanwhile();
#pragma unroll 1
    for (int token = threadIdx.y; token < kTokens; token += at_once) {
      const float scale = values.template scale<Half>();
      values.template round<Half, false>(n_part, scale, row(0, token), row(1, token));
      if (threadIdx.x == 0) scales[token] = scale;
      values = kHoldsNext ? next : part_of(token + at_once);
      if constexpr (kHoldsNext) next = part_of(token + 2 * at_once);
    }
  }
};

// What a warp has of a tile and a part: of each 16 rows, 8 tokens for each column.
template <int kColumns>
using TileSums = float[kSubtiles][kColumns][4];

template <class Product, int kColumns>
__device__ void multiply_tokens(RowStage<kRows>& stage, const Tokens<kColumns>& x, int value,
                                TileSums<kColumns>& acc) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < kHalfStepValues / kMmaValues; ++k) {
    uint32_t a[kSubtiles][4], b[kHalves][kColumns][2];
    x.load(value + k * kMmaValues, b);
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i)
      load_matrices(a[i], &stage.at(i * kMmaRows + lane % 16, 2 * k + lane / 16));
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int i = 0; i < kSubtiles; ++i) {
#pragma unroll
        for (int column = 0; column < kColumns; ++column)
          Product::multiply_add(acc[i][column], a[i], b[half][column][0], b[half][column][1]);
      }
    }
  }
}

// What becomes of a tile's sums, of which a lane has one of each subtile for a pair of tokens. In a gated
// product the first subtile's are gates of the second's.
struct TileEnd {
  const Products& p;
  const Output& output;
  int first_row;
  MatmulEnd end;

  __device__ TileEnd(const Products& products, int tile, MatmulEnd end_of_rows)
      : p(products),
        output(output_of_tile(products, tile)),
        first_row((tile - output.first_tile) * (products.is_gated ? kMmaRows : kRows)),
        end(end_of_rows) {}

  __device__ int row(int subtile) const {
    const int lane = threadIdx.x;
    return first_row + (p.is_gated ? 0 : subtile * kMmaRows) + lane / 4 + lane % 4 / 2 * 8;
  }
  // Null where there is no such row or token.
  __device__ float* place(int subtile, int pair) const {
    const int token = 2 * pair + static_cast<int>(threadIdx.x) % 2;
    if (row(subtile) >= output.n_out || token >= p.n_tokens) return nullptr;
    return output.out + static_cast<int64_t>(token) * output.n_out + row(subtile);
  }
  // What the sums are added to.
  __device__ void load(int pair, float (&before)[kSubtiles]) const {
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      const float* const from = end == MatmulEnd::add ? place(i, pair) : nullptr;
      before[i] = from ? *from : 0.0f;
    }
  }
  __device__ void store(int pair, const float (&before)[kSubtiles], const float (&sums)[kSubtiles]) const {
    float values[kSubtiles];
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      const float* const bias = (p.is_gated && i > 0 ? p.outputs[1] : output).bias;
      values[i] = sums[i] + (bias && row(i) < output.n_out ? bias[row(i)] : 0.0f);
    }
    if (p.is_gated) values[0] = silu(values[0]) * values[1];
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      float* const to = p.is_gated && i > 0 ? nullptr : place(i, pair);
      if (to) *to = end == MatmulEnd::add ? before[i] + values[i] : values[i];
    }
  }
};

// Where blocks leave the sums of their parts for those that add them up, in their shared memory. Of a tile,
// each block of a cluster has some pairs of tokens. Where warps have several tiles, twice, so that those of a
// round are read while the next ones are computed.
template <int kColumns>
struct LeftSums {
  static constexpr int kPairs = kColumns * kColumnTokens / 2;
  float* of_warps;  // [n_buffers][warps][pairs of a block][n_parts][kSubtiles][32]
  int n_parts, n_buffers, n_warps;

  __host__ __device__ static int pairs_of_block(int n_parts) { return (kPairs + n_parts - 1) / n_parts; }
  __host__ __device__ static int values(int n_warps, int n_parts, int n_buffers) {
    return n_buffers * n_warps * pairs_of_block(n_parts) * n_parts * kSubtiles * 32;
  }

  __device__ float* at(int round, int pair, int part) const {
    const int warp = round % n_buffers * n_warps + static_cast<int>(threadIdx.y);
    return of_warps + ((warp * pairs_of_block(n_parts) + pair / n_parts) * n_parts + part) * kSubtiles * 32;
  }

  __device__ void leave(int round, int part, const TileSums<kColumns>& sums, const float* scales) const {
    const int lane = threadIdx.x;
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int pair = column * 4 + lane % 4;
      const float2 scale = *reinterpret_cast<const float2*>(scales + 2 * pair);
      float* const to = at(round, pair, part) + lane / 4 * 4;
#pragma unroll
      for (int i = 0; i < kSubtiles; ++i) {
        const float(&of)[4] = sums[i][column];
        store_in_block(to + i * 32, static_cast<unsigned>(pair % n_parts),
                       make_float4(__fmul_rn(of[0], scale.x), __fmul_rn(of[1], scale.y),
                                   __fmul_rn(of[2], scale.x), __fmul_rn(of[3], scale.y)));
      }
    }
  }

  // Of the block's pairs: adds up the parts of a tile. `before`: what the first pair's are added to.
  __device__ void finish(int round, int of_part, const TileEnd& tile, float (&before)[kSubtiles]) const {
    for (int pair = of_part; pair < kPairs; pair += n_parts) {
      const float* const left = at(round, pair, 0) + threadIdx.x;
      float sums[kSubtiles] = {};
#pragma unroll
      for (int i = 0; i < kSubtiles; ++i) {
#pragma unroll
        for (int part = 0; part < kMostParts; ++part) {
          if (part < n_parts) sums[i] = add_part(sums[i], left[(part * kSubtiles + i) * 32]);
        }
      }
      if (pair != of_part) tile.load(pair, before);
      tile.store(pair, before, sums);
    }
  }
};

constexpr size_t tokens_bytes(const Parts& parts, int columns) {
  return static_cast<size_t>(kHalves * columns * kColumnTokens) *
         static_cast<size_t>(parts.units * kHalfStepValues + kRowPad) * sizeof(uint16_t);
}

constexpr int kFewestStages = 3, kMostStages = 5;  // of a warp

// Those that are asked for before the tokens are there: the tokens come behind them.
constexpr int kStagesBefore = 2;

// Warps of a block, how many tiles each has, and stages.
struct BlockShape {
  int n_warps, n_rounds, n_stages;

  int n_buffers() const { return n_rounds > 1 ? 2 : 1; }
  size_t bytes_beside_stages(const Parts& parts, int columns) const {
    const int n_sums =
        (columns == 1 ? LeftSums<1>::values : LeftSums<2>::values)(n_warps, parts.n, n_buffers());
    return sizeof(float) * static_cast<size_t>(n_sums + columns * kColumnTokens) +
           tokens_bytes(parts, columns);
  }
  size_t bytes(const Parts& parts, int columns) const {
    return bytes_beside_stages(parts, columns) +
           static_cast<size_t>(n_warps * n_stages) * sizeof(RowStage<kRows>);
  }
};

// Of a block that has n_tiles, with as many stages as there is room for.
BlockShape with_warps(int n_warps, int n_tiles, const Parts& parts, int columns, size_t room) {
  BlockShape shape{n_warps, div_up(n_tiles, n_warps), 0};
  const size_t taken = shape.bytes_beside_stages(parts, columns);
  if (taken > room) return shape;
  const size_t n_stages = (room - taken) / static_cast<size_t>(n_warps) / sizeof(RowStage<kRows>);
  shape.n_stages = static_cast<int>(std::min<size_t>(n_stages, kMostStages));
  return shape;
}

// What leaves the fewest warps without a tile in their last round; then, what has the most weights on their
// way. Without stages where nothing has room.
constexpr int kFewestWarps = 8, kMostWarps = 13;
BlockShape shape_for(int n_tiles, const Parts& parts, int columns, size_t room) {
  BlockShape best{};
  for (int n = kMostWarps; n >= kFewestWarps; --n) {
    const BlockShape shape = with_warps(n, n_tiles, parts, columns, room);
    if (shape.n_stages < kFewestStages) continue;
    const int n_slots = n * shape.n_rounds, n_best = best.n_warps * best.n_rounds;
    const bool is_more = n * shape.n_stages > best.n_warps * best.n_stages;
    if (best.n_stages == 0 || n_slots < n_best || (n_slots == n_best && is_more)) best = shape;
  }
  return best;
}

// Until all but the last n_stages - 1 groups of copies are there.
__device__ void wait_for_stage(int n_stages) {
  switch (n_stages) {
    case 3:
      return wait_for_copies<2>();
    case 4:
      return wait_for_copies<3>();
    default:
      return wait_for_copies<kMostStages - 1>();
  }
}

// Warps of a block. Where there is much to round, some do nothing else.
template <int kColumns, int kHeld>
constexpr int block_warps(int n_warps) {
  return kHeld > kFewPieces ? std::max(n_warps, kColumns * kColumnTokens) : n_warps;
}

// Block (cluster and, in it, part), of 32 lanes by warps, of which the first have tiles. Shared
// memory: stages of all warps, sums, scales, tokens.
template <class Product, int kColumns, int kHeld>
__global__ void __launch_bounds__(32 * block_warps<kColumns, kHeld>(kMostWarps))
    multiply_few(const __grid_constant__ Products p, const float* x, MatmulEnd end_of_rows, const Parts parts,
                 const BlockShape shape) {
  extern __shared__ uint4 shared[];
  let_next_start();
  arrive_in_cluster();  // that this block has started: others may write to its shared memory
  const int part = blockIdx.x % parts.n, cluster = blockIdx.x / parts.n, n_clusters = gridDim.x / parts.n;
  const int begin = part * parts.units;
  const int end = min(begin + parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const int warp = threadIdx.y, first_tile = warp * n_clusters + cluster;
  const int n_warps = shape.n_warps, n_stages = shape.n_stages, tiles_at_once = n_warps * n_clusters;
  auto* const all_stages = reinterpret_cast<RowStage<kRows>*>(shared);
  RowStage<kRows>* const stages = all_stages + warp * n_stages;
  const int n_buffers = shape.n_rounds > 1 ? 2 : 1;
  const LeftSums<kColumns> left{reinterpret_cast<float*>(all_stages + n_warps * n_stages), parts.n, n_buffers,
                                n_warps};
  float* const scales = left.of_warps + LeftSums<kColumns>::values(n_warps, parts.n, n_buffers);
  RowsAhead<kRows> ahead(p, begin, end, first_tile, tiles_at_once);
  const auto copy_ahead = [&](int from, int to) {
    for (int i = from; i < to; ++i) ahead.copy(stages[i]);
  };
  const bool has_tiles = warp < n_warps;
  if (has_tiles) copy_ahead(0, kStagesBefore);
  wait_for_previous();

  const int n_part = parts.units * kHalfStepValues, first = begin * kHalfStepValues;
  const Tokens<kColumns> tokens{reinterpret_cast<uint16_t*>(scales + kColumns * kColumnTokens), scales,
                                n_part + kRowPad};
  tokens.template round<typename Product::Half, kHeld>(x + first, p.n_in, min(n_part, p.n_in - first), n_part,
                                                       p.n_tokens, [&] {
                                                         if (has_tiles)
                                                           copy_ahead(kStagesBefore, n_stages - 1);
                                                       });
  __syncthreads();
  if (!has_tiles) return;  // barriers of the cluster do not wait for who has ended

  // All warps of the cluster have as many rounds, and by turns one block's add up a round's.
  const auto finish_round = [&](int round) {
    const int tile = first_tile + round * tiles_at_once;
    const TileEnd end_of_tile(p, min(tile, p.n_tiles - 1), end_of_rows);
    float before[kSubtiles];
    end_of_tile.load(part, before);
    wait_for_cluster();
    if (tile < p.n_tiles) left.finish(round, part, end_of_tile, before);
  };
  int stage = 0;
  for (int round = 0; round < shape.n_rounds; ++round) {
    TileSums<kColumns> acc = {};
    for (int step = begin; first_tile + round * tiles_at_once < p.n_tiles && step < end; ++step) {
      ahead.copy(stages[stage == 0 ? n_stages - 1 : stage - 1]);
      wait_for_stage(n_stages);
      __syncwarp();
      multiply_tokens<Product, kColumns>(stages[stage], tokens, (step - begin) * kHalfStepValues, acc);
      __syncwarp();
      stage = stage + 1 == n_stages ? 0 : stage + 1;
    }
    if (round > 0) {
      finish_round(round - 1);
    } else {
      wait_for_cluster();
    }
    __syncwarp();
    left.leave(round, part, acc, scales);
    __syncwarp();
    arrive_in_cluster();
  }
  finish_round(shape.n_rounds - 1);
}

// As many clusters as run at the same time. False where the GPU has no room for one.
template <class Product, int kColumns, int kHeld>
bool launch_few(Stream& stream, const FusedMatmulArgs& args, const Products& products, const Parts& parts) {
  constexpr size_t kRoomForOthers = 2 << 10;  // for small kernels before and behind this one
  const size_t room = shared_bytes_of_blocks(gpu_of(stream), 1) - kRoomForOthers;
  const auto kernel = multiply_few<Product, kColumns, kHeld>;
  const auto n_parts = static_cast<unsigned>(parts.n);
  const auto launched = [&](const BlockShape& shape) {
    return Shape{.grid = dim3(n_parts),
                 .block = dim3(32, static_cast<unsigned>(block_warps<kColumns, kHeld>(shape.n_warps))),
                 .shared_bytes = shape.bytes(parts, kColumns)};
  };
  const BlockShape alone = shape_for(1, parts, kColumns, room);
  if (alone.n_stages == 0) return false;
  const int n_at_once =
      clusters_at_once(stream, reinterpret_cast<const void*>(kernel), launched(alone), n_parts);
  if (n_at_once == 0) return false;
  const int n_clusters = std::min(n_at_once, products.n_tiles);
  const BlockShape shape = shape_for(div_up(products.n_tiles, n_clusters), parts, kColumns, room);
  if (shape.n_stages == 0) return false;
  Shape all = launched(shape);
  all.grid.x *= static_cast<unsigned>(n_clusters);
  launch_in_clusters(stream, kernel, all, n_parts, products, args.products.x.as<const float>(), args.end,
                     parts, shape);
  return true;
}

template <class Product>
bool choose_kernel(Stream& stream, const FusedMatmulArgs& args, const Products& products,
                   const Parts& parts) {
  const bool is_narrow = products.n_tokens <= kColumnTokens;
  const bool is_short = parts.units * kHalfStepValues <= kFewPieces * 4 * 32;
  const auto run = is_short
                       ? is_narrow ? launch_few<Product, 1, kFewPieces> : launch_few<Product, 2, kFewPieces>
                   : is_narrow ? launch_few<Product, 1, kManyPieces>
                               : launch_few<Product, 2, kManyPieces>;
  return run(stream, args, products, parts);
}

}  // namespace

bool half_few(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  if (products.n_tokens > kMostFewTokens || gpu_of(stream).compute_capability < 90 ||
      !has_code_for_clusters())
    return false;
  const auto run = dtype == DType::bf16 ? choose_kernel<Bf16Product> : choose_kernel<F16Product>;
  return run(stream, args, products, parts);
}

}  // namespace parlance::cuda
