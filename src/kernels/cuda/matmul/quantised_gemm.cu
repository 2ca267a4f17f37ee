// Many tokens times quantised weights on the tensor cores. A block computes kTileRows rows by kTokens tokens
// in steps of 256 values: the rows' blocks, copied as they are, are unpacked to signed bytes in shared
// memory; integer products of each run (or half) are scaled and added up in f32, run after run. While a step
// is multiplied, the bytes of the next are on their way.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/mma.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/run_sums.cuh"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kTileRows = 128;
constexpr int kStepRuns = 8;
constexpr int kStepValues = kStepRuns * kRunValues;
constexpr int kThreads = 256;
constexpr int kWarpsAlongRows = 4, kWarpsAlongTokens = 2;
constexpr int kRowTiles = kTileRows / kWarpsAlongRows / 16;  // of 16 rows, of a warp
constexpr int kCodeStride = kStepValues + 16;  // bytes; rows of shared memory start in different banks
constexpr int kScaleStride = kTileRows + 4;    // floats, for the same reason

static_assert(kStepValues == kQuantisedUnitValues);  // what parts are counted in

// Shared memory. Types without minimums have one unused row where those would be.
template <class Type, int kTokens>
struct Tile {
  static constexpr int kRawBytes = kStepRuns / Type::kBlockRuns * Type::kBlockBytes;  // of a row
  static constexpr int kScales = kStepRuns * (Type::kHalves ? 2 : 1);                 // of a row
  static constexpr int kWarpColumns = kTokens / kWarpsAlongTokens / 8;  // tiles of 8 tokens, of a warp

  // Activations of a step.
  struct Tokens {
    alignas(16) int8_t codes[kTokens][kCodeStride];
    float steps[kStepRuns][kTokens];
    float2 sums[Type::kHasMinimum ? kStepRuns : 1][kTokens];
  };
  alignas(16) uint8_t raw[kTileRows][staged_bytes(kRawBytes)];
  alignas(16) int8_t codes[kTileRows][kCodeStride];
  float steps[kScales][kScaleStride];
  float minimums[Type::kHasMinimum ? kScales : 1][kScaleStride];
  Tokens tokens[2];
};

// Starts the copies of the rows' bytes of a step; rows and values that do not exist are zero.
template <class Type, int kTokens>
__device__ void copy_weights(Tile<Type, kTokens>& tile, const Output& output, int first_row, int step) {
  constexpr int kBytes = Tile<Type, kTokens>::kRawBytes, kLanes = 8;  // of a row
  const int n_step = min(kBytes, static_cast<int>(output.row_bytes) - step * kBytes);
  for (int r = threadIdx.x / kLanes; r < kTileRows; r += kThreads / kLanes) {
    const bool is_row = first_row + r < output.n_out;
    const uint8_t* from = output.weight + (is_row ? first_row + r : 0) * output.row_bytes + step * kBytes;
    const int before = bytes_past_piece(from);
    const int end = is_row ? before + n_step : 0;
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int i = 0; i < staged_bytes(kBytes); i += kLanes * kPieceBytes) {
      const int at = i + lane * kPieceBytes;
      const int n = max(min(kPieceBytes, end - at), 0);
      if (at < staged_bytes(kBytes)) copy_piece(tile.raw[r] + at, from - before + at, n);
    }
  }
}

template <class Type, int kTokens>
__device__ void copy_tokens(typename Tile<Type, kTokens>::Tokens& tokens, const GemmActivations& x,
                            int first_token, int step) {
  constexpr int kRowPieces = kStepValues / kPieceBytes;
  for (int i = threadIdx.x; i < kTokens * kRowPieces; i += kThreads) {
    const int token = i / kRowPieces, at = i % kRowPieces * kPieceBytes;
    copy_piece(tokens.codes[token] + at,
               x.codes + static_cast<int64_t>(first_token + token) * x.row_values + step * kStepValues + at,
               kPieceBytes);
  }
  constexpr int kStepPieces = kTokens * static_cast<int>(sizeof(float)) / kPieceBytes;
  for (int i = threadIdx.x; i < kStepRuns * kStepPieces; i += kThreads) {
    const int run = i / kStepPieces, at = i % kStepPieces * 4;
    copy_piece(&tokens.steps[run][at],
               x.steps + static_cast<int64_t>(step * kStepRuns + run) * x.n_tokens + first_token + at,
               kPieceBytes);
  }
  if constexpr (Type::kHasMinimum) {
    constexpr int kSumPieces = 2 * kStepPieces;
    for (int i = threadIdx.x; i < kStepRuns * kSumPieces; i += kThreads) {
      const int run = i / kSumPieces, at = i % kSumPieces * 2;
      copy_piece(&tokens.sums[run][at],
                 x.sums + static_cast<int64_t>(step * kStepRuns + run) * x.n_tokens + first_token + at,
                 kPieceBytes);
    }
  }
}

// Raw bytes to codes and scales.
template <class Type, int kTokens>
__device__ void unpack_weights(Tile<Type, kTokens>& tile, const Output& output, int first_row, int step) {
  for (int i = threadIdx.x; i < kTileRows * kStepRuns; i += kThreads) {
    const int r = i / kStepRuns, run = i % kStepRuns;
    const uint8_t* from =
        output.weight + (first_row + r) * output.row_bytes + step * Tile<Type, kTokens>::kRawBytes;
    Run w;
    Type::unpack(tile.raw[r] + bytes_past_piece(from) + run / Type::kBlockRuns * Type::kBlockBytes,
                 run % Type::kBlockRuns, w);
    auto* codes = reinterpret_cast<uint4*>(tile.codes[r] + run * kRunValues);
    codes[0] = make_uint4(w.codes[0], w.codes[1], w.codes[2], w.codes[3]);
    codes[1] = make_uint4(w.codes[4], w.codes[5], w.codes[6], w.codes[7]);
    constexpr int kHalves = Type::kHalves ? 2 : 1;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      tile.steps[run * kHalves + half][r] = w.step[half];
      if constexpr (Type::kHasMinimum) tile.minimums[run * kHalves + half][r] = w.minimum[half];
    }
  }
}

// Adds one run to a warp's sums; rows from `row` on, tokens from `column` on are the warp's.
template <class Type, int kTokens>
__device__ void multiply_run(const Tile<Type, kTokens>& tile,
                             const typename Tile<Type, kTokens>::Tokens& tokens, int run, int row, int column,
                             int lane, float (&acc)[kRowTiles][Tile<Type, kTokens>::kWarpColumns][4]) {
  constexpr int kColumns = Tile<Type, kTokens>::kWarpColumns;
  constexpr int kHalves = Type::kHalves ? 2 : 1;
  const int g = lane / 4, i = lane % 4;
  uint32_t a[kRowTiles][4];
  float step[kRowTiles][kHalves][2], minimum[kRowTiles][kHalves][2] = {};
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    load_matrices(a[m], tile.codes[row + 16 * m] + run * kRunValues + offset_in_a(lane, kCodeStride));
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        step[m][half][e] = tile.steps[run * kHalves + half][row + 16 * m + g + 8 * e];
        if constexpr (Type::kHasMinimum) {
          minimum[m][half][e] = tile.minimums[run * kHalves + half][row + 16 * m + g + 8 * e];
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kColumns; n += 2) {
    uint32_t b[4];
    load_matrices(b, tokens.codes[column + 8 * n] + run * kRunValues + offset_in_b(lane, kCodeStride));
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int at = column + 8 * (n + pair) + 2 * i;
      const float2 x = *reinterpret_cast<const float2*>(&tokens.steps[run][at]);
      float4 x_sums{};  // halves of this lane's two tokens
      if constexpr (Type::kHasMinimum) x_sums = *reinterpret_cast<const float4*>(&tokens.sums[run][at]);
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        add_run<Type>(acc[m][n + pair], a[m], b[2 * pair], b[2 * pair + 1], step[m], minimum[m], x, x_sums);
      }
    }
  }
}

// Block (tile of tokens, tile of rows, its parts, or one if sums have no order). Tiles of tokens that share
// weights run side by side.
template <class Type, int kTokens, bool kHasOrder>
__global__ void __launch_bounds__(kThreads, 1)
    multiply_tiles(const __grid_constant__ Products p, const GemmActivations x, const Parts parts,
                   const Split split) {
  extern __shared__ uint4 shared[];
  let_next_start();
  auto& tile = *reinterpret_cast<Tile<Type, kTokens>*>(shared);
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * kTileRows;
  const int first_token = blockIdx.x * kTokens;
  const int first_part = blockIdx.z * split.parts_per_block;
  const int end_part = min(first_part + split.parts_per_block, parts.n);
  const int part_steps = parts.units;
  const int begin = first_part * part_steps;
  const int end = min(end_part * part_steps, (p.n_in + kStepValues - 1) / kStepValues);
  copy_weights<Type, kTokens>(tile, output, first_row, begin);
  wait_for_previous();
  copy_tokens<Type, kTokens>(tile.tokens[0], x, first_token, begin);
  end_copy_group();

  constexpr int kColumns = Tile<Type, kTokens>::kWarpColumns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp % kWarpsAlongRows * kRowTiles * 16, column = warp / kWarpsAlongRows * kColumns * 8;
  using Sums = float[kRowTiles][kColumns][4];
  const auto add_steps = [&](int first_step, int end_step, Sums& acc) {
    for (int step = first_step; step < end_step; ++step) {
      const int buffer = (step - begin) % 2;
      wait_for_copies<0>();
      __syncthreads();
      unpack_weights<Type, kTokens>(tile, output, first_row, step);
      __syncthreads();
      if (step + 1 < end) {
        copy_weights<Type, kTokens>(tile, output, first_row, step + 1);
        copy_tokens<Type, kTokens>(tile.tokens[1 - buffer], x, first_token, step + 1);
        end_copy_group();
      }
#pragma unroll 1
      for (int run = 0; run < kStepRuns; ++run) {
        multiply_run<Type, kTokens>(tile, tile.tokens[buffer], run, row, column, lane, acc);
      }
    }
  };
  using OfTile = TileShares<kThreads, kWarpsAlongRows, kRowTiles, kColumns>;
  Sums total = {};
  if constexpr (kHasOrder) {
    for (int part = first_part; part < end_part; ++part) {
      Sums acc = {};
      add_steps(part * part_steps, min((part + 1) * part_steps, end), acc);
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int n = 0; n < kColumns; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) total[m][n][e] = add_part(total[m][n][e], acc[m][n][e]);
        }
      }
      if (split.sums) OfTile::leave(split, parts.n, part, acc);
    }
  } else {
    add_steps(begin, end, total);
    if (split.sums) OfTile::leave(split, parts.n, first_part, total);
  }
  if (split.sums) return;
  OfTile::store(p, output, first_row, first_token, total);
}

template <class Type, int kTokens, bool kHasOrder>
void launch_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const GemmActivations& x) {
  const Products products = products_of(args, dtype, kTileRows);
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  constexpr size_t kSharedBytes = sizeof(Tile<Type, kTokens>);
  constexpr int kTileValues = kTileRows * kTokens;
  const Parts parts =
      kHasOrder ? quantised_parts(products.n_in)
                : parts_for_blocks(stream, products, n_token_tiles, kStepValues, kSharedBytes, kTileValues);
  const Split split = split_parts(stream, int64_t{n_token_tiles} * products.n_tiles, parts, kSharedBytes,
                                  kTileValues, part_sums_of(stream, args.x));
  launch(stream, multiply_tiles<Type, kTokens, kHasOrder>,
         {.grid = dim3(static_cast<unsigned>(n_token_tiles), static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(split.n_blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kSharedBytes},
         products, x, parts, split);
  using OfTile = TileShares<kThreads, kWarpsAlongRows, kRowTiles, Tile<Type, kTokens>::kWarpColumns>;
  launch_add_parts<OfTile>(stream, products, split, parts.n, n_token_tiles);
}

}  // namespace

void quantised_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const GemmActivations& x) {
  const int64_t n_tokens = args.x.n_rows();
  const bool has_order = has_one_order(stream, n_tokens);
  const size_t room = gpu_of(stream).shared_bytes_per_block;
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const bool has_wide = sizeof(Tile<Type, 128>) <= room, has_middle = sizeof(Tile<Type, 64>) <= room;
    const auto run = !has_order ? (has_wide ? launch_gemm<Type, 128, false> : launch_gemm<Type, 32, false>)
                     : n_tokens > 32 && has_middle ? launch_gemm<Type, 64, true>
                                                   : launch_gemm<Type, 32, true>;
    run(stream, args, dtype, x);
  });
}

}  // namespace parlance::cuda
