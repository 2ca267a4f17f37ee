// Tokens times f16 or bf16 weights on the tensor cores, summed in f32. A block computes kTileRows rows by
// kTokens tokens in steps of 64 values, of which several are on their way while one is multiplied. For few
// tokens several blocks share the parts of a tile, and the last of them adds up what they have left.
#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kTileRows = 128;
constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kStepPieces = kHalfStepValues / kPieceValues;  // of a row

// How warps share a tile, so that each reads little of shared memory for what it multiplies: tokens count
// twice, since there are two halves of them.
template <int kTokens>
struct Shares {
  static constexpr int kAlongTokens = kTokens == 16 ? 1 : kTokens <= 64 ? 2 : 4;
  static constexpr int kAlongRows = kWarps / kAlongTokens;
  static constexpr int kRowTiles = kTileRows / kAlongRows / 16;  // of 16 rows, of a warp
  static constexpr int kColumns = kTokens / kAlongTokens / 8;    // tiles of 8 tokens, of a warp
  static constexpr int kStages = kTokens <= 32 ? 4 : 3;          // few tokens wait for weights
  static constexpr int kBlocksAtOnce = kTokens <= 64 ? 2 : 1;    // on a multiprocessor
};

template <int kTokens>
using Sums = float[Shares<kTokens>::kRowTiles][Shares<kTokens>::kColumns][4];

// A step in shared memory.
template <int kTokens>
struct Stage {
  alignas(16) uint16_t w[kTileRows][kHalfStride];
  alignas(16) uint16_t x[kHalves][kTokens][kHalfStride];
};

// Rows and values that do not exist are zero.
__device__ void copy_weights(uint16_t (&w)[kTileRows][kHalfStride], const Output& output, int first_row,
                             int step) {
#pragma unroll
  for (int i = 0; i < kTileRows * kStepPieces; i += kThreads) {
    const int r = (i + static_cast<int>(threadIdx.x)) / kStepPieces, piece = threadIdx.x % kStepPieces;
    const int64_t at = (static_cast<int64_t>(step) * kStepPieces + piece) * kPieceBytes;
    const bool exists = first_row + r < output.n_out && at < output.row_bytes;
    const uint8_t* from = output.weight + (exists ? (first_row + r) * output.row_bytes + at : 0);
    copy_piece(&w[r][piece * kPieceValues], from, exists ? kPieceBytes : 0);
  }
}

template <int kTokens>
__device__ void copy_tokens(uint16_t (&tokens)[kHalves][kTokens][kHalfStride], const HalfActivations& x,
                            int first_token, int step) {
  constexpr int kPieces = kTokens * kStepPieces;
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
#pragma unroll
    for (int i = 0; i < kPieces; i += kThreads) {
      const int t = (i + static_cast<int>(threadIdx.x)) / kStepPieces, piece = threadIdx.x % kStepPieces;
      if (kPieces % kThreads != 0 && t >= kTokens) break;
      const int64_t row = static_cast<int64_t>(half) * x.n_tokens + first_token + t;
      copy_piece(&tokens[half][t][piece * kPieceValues],
                 x.halves + row * x.row_values + step * kHalfStepValues + piece * kPieceValues, kPieceBytes);
    }
  }
}

// Adds a step to a warp's sums; rows from `row` on, tokens from `column` on are the warp's.
template <class Product, int kTokens>
__device__ void multiply_step(const Stage<kTokens>& stage, int row, int column, int lane,
                              Sums<kTokens>& acc) {
  constexpr int kRowTiles = Shares<kTokens>::kRowTiles, kColumns = Shares<kTokens>::kColumns;
  const int in_a = offset_in_a(lane, kHalfStride * 2) / 2, in_b = offset_in_b(lane, kHalfStride * 2) / 2;
#pragma unroll
  for (int k = 0; k < kHalfStepValues; k += kMmaValues) {
    uint32_t a[kRowTiles][4];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) load_matrices(a[m], &stage.w[row + 16 * m][k] + in_a);
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int n = 0; n < kColumns; n += 2) {
        uint32_t b[4];
        load_matrices(b, &stage.x[half][column + 8 * n][k] + in_b);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          Product::multiply_add(acc[m][n], a[m], b[0], b[1]);
          Product::multiply_add(acc[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
}

// Block (tile of tokens, tile of rows, its parts). Tiles of tokens that share weights run side by side.
template <class Product, int kTokens>
__global__ void __launch_bounds__(kThreads, Shares<kTokens>::kBlocksAtOnce)
    multiply_tiles(const __grid_constant__ Products p, const HalfActivations x, const Parts parts,
                   const Split split) {
  using S = Shares<kTokens>;
  extern __shared__ uint4 shared[];
  let_next_start();
  auto* stages = reinterpret_cast<Stage<kTokens>*>(shared);
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * kTileRows;
  const int first_token = blockIdx.x * kTokens;
  const int first_part = blockIdx.z * split.parts_per_block;
  const int end_part = min(first_part + split.parts_per_block, parts.n);
  const int begin = first_part * parts.units;
  const int end = min(end_part * parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
#pragma unroll
  for (int i = 0; i < S::kStages - 1; ++i) {
    if (begin + i < end) copy_weights(stages[i].w, output, first_row, begin + i);
  }
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < S::kStages - 1; ++i) {
    if (begin + i < end) copy_tokens(stages[i].x, x, first_token, begin + i);
    end_copy_group();
  }

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp % S::kAlongRows * S::kRowTiles * 16, column = warp / S::kAlongRows * S::kColumns * 8;
  SharedTile<Sums<kTokens>, kThreads> others(split, parts.n);
  Sums<kTokens> total = {};
  int current = 0;
  for (int part = first_part; part < end_part; ++part) {
    Sums<kTokens> acc = {};
    const int end_step = min((part + 1) * parts.units, end);
    for (int step = part * parts.units; step < end_step; ++step) {
      wait_for_copies<S::kStages - 2>();
      __syncthreads();  // the step is there for all threads, and none still reads the stage before it
      const int next = step + S::kStages - 1;
      const int free = current == 0 ? S::kStages - 1 : current - 1;
      if (next < end) {
        copy_weights(stages[free].w, output, first_row, next);
        copy_tokens(stages[free].x, x, first_token, next);
      }
      end_copy_group();
      multiply_step<Product, kTokens>(stages[current], row, column, lane, acc);
      current = current + 1 == S::kStages ? 0 : current + 1;
    }
#pragma unroll
    for (int n = 0; n < S::kColumns; ++n) {
      const float2 scales = x.scales_of(first_token + column + 8 * n + lane % 4 * 2, part);
#pragma unroll
      for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          acc[m][n][e] = __fmul_rn(acc[m][n][e], e % 2 == 0 ? scales.x : scales.y);
          total[m][n][e] = add_part(total[m][n][e], acc[m][n][e]);
        }
      }
    }
    if (split.sums) others.leave(part, acc);
  }
  if (split.sums && !others.is_last_to_add(total)) return;
#pragma unroll
  for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < S::kColumns; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int r = first_row + row + 16 * m + lane / 4 + e / 2 * 8;
        const int t = first_token + column + 8 * n + lane % 4 * 2 + e % 2;
        if (r >= output.n_out || t >= p.n_tokens) continue;
        output.out[static_cast<int64_t>(t) * output.n_out + r] =
            total[m][n][e] + (output.bias ? output.bias[r] : 0.0f);
      }
    }
  }
}

template <class Product, int kTokens>
void launch_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const Products products = products_of(args, dtype, kTileRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  constexpr size_t kSharedBytes = Shares<kTokens>::kStages * sizeof(Stage<kTokens>);
  const Split split =
      split_parts(stream, products, n_token_tiles, parts, kSharedBytes, kTileRows * kTokens, x.part_sums);
  launch(stream, multiply_tiles<Product, kTokens>,
         {.grid = dim3(static_cast<unsigned>(n_token_tiles), static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(split.n_blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kSharedBytes},
         products, x, parts, split);
}

// The widest tile that the batch fills and the GPU has room for.
template <class Product>
void choose_tile(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const int64_t n_tokens = args.x.n_rows();
  const auto has_room = [&]<int kTokens>() {
    return Shares<kTokens>::kStages * sizeof(Stage<kTokens>) <= gpu_of(stream).shared_bytes_per_block;
  };
  const auto run = n_tokens > 64 && has_room.template operator()<128>()  ? launch_gemm<Product, 128>
                   : n_tokens > 32 && has_room.template operator()<64>() ? launch_gemm<Product, 64>
                   : n_tokens > 16 && has_room.template operator()<32>() ? launch_gemm<Product, 32>
                                                                         : launch_gemm<Product, 16>;
  run(stream, args, dtype, x);
}

}  // namespace

void half_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const auto run = dtype == DType::bf16 ? choose_tile<Bf16Product> : choose_tile<F16Product>;
  run(stream, args, dtype, x);
}

}  // namespace parlance::cuda
