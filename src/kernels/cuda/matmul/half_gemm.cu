// Many tokens times f16 or bf16 weights on the tensor cores, summed in f32. A block computes kTileRows rows
// by kTokens tokens in steps of 64 values, of which several are on their way while one is multiplied.
#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kTileRows = 128;
constexpr int kThreads = 256;
constexpr int kStages = 3;
constexpr int kWarpsAlongRows = 4, kWarpsAlongTokens = 2;
constexpr int kRowTiles = kTileRows / kWarpsAlongRows / 16;  // of 16 rows, of a warp
constexpr int kStepPieces = kHalfStepValues / kPieceValues;  // of a row

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
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
#pragma unroll
    for (int i = 0; i < kTokens * kStepPieces; i += kThreads) {
      const int t = (i + static_cast<int>(threadIdx.x)) / kStepPieces, piece = threadIdx.x % kStepPieces;
      const int64_t row = static_cast<int64_t>(half) * x.n_tokens + first_token + t;
      copy_piece(&tokens[half][t][piece * kPieceValues],
                 x.halves + row * x.row_values + step * kHalfStepValues + piece * kPieceValues, kPieceBytes);
    }
  }
}

// Adds a step to a warp's sums; rows from `row` on, tokens from `column` on are the warp's.
template <class Product, int kTokens, int kColumns>
__device__ void multiply_step(const Stage<kTokens>& stage, int row, int column, int lane,
                              float (&acc)[kRowTiles][kColumns][4]) {
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
__global__ void __launch_bounds__(kThreads, kTokens > 64 ? 1 : 2)
    multiply_tiles(const __grid_constant__ Products p, const HalfActivations x, const Parts parts,
                   const Split split) {
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
  for (int i = 0; i < kStages - 1; ++i) {
    if (begin + i < end) copy_weights(stages[i].w, output, first_row, begin + i);
  }
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (begin + i < end) copy_tokens(stages[i].x, x, first_token, begin + i);
    end_copy_group();
  }

  constexpr int kColumns = kTokens / kWarpsAlongTokens / 8;  // tiles of 8 tokens, of a warp
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp % kWarpsAlongRows * kRowTiles * 16, column = warp / kWarpsAlongRows * kColumns * 8;
  const auto row_of = [&](int m, int e) { return first_row + row + 16 * m + lane / 4 + e / 2 * 8; };
  const auto token_of = [&](int n, int e) { return first_token + column + 8 * n + lane % 4 * 2 + e % 2; };
  float total[kRowTiles][kColumns][4] = {};
  int current = 0;
  for (int part = first_part; part < end_part; ++part) {
    float acc[kRowTiles][kColumns][4] = {};
    const int end_step = min((part + 1) * parts.units, end);
    for (int step = part * parts.units; step < end_step; ++step) {
      wait_for_copies<kStages - 2>();
      __syncthreads();  // the step is there for all threads, and none still reads the stage before it
      const int next = step + kStages - 1, free = (current + kStages - 1) % kStages;
      if (next < end) {
        copy_weights(stages[free].w, output, first_row, next);
        copy_tokens(stages[free].x, x, first_token, next);
      }
      end_copy_group();
      multiply_step<Product, kTokens>(stages[current], row, column, lane, acc);
      current = (current + 1) % kStages;
    }
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) total[m][n][e] = add_part(total[m][n][e], acc[m][n][e]);
      }
    }
    if (!split.sums) continue;
    float* sums = split.sums + part * p.n_sums + output.first_sum;
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (row_of(m, e) >= output.n_out || token_of(n, e) >= p.n_tokens) continue;
          sums[static_cast<int64_t>(token_of(n, e)) * output.n_out + row_of(m, e)] = acc[m][n][e];
        }
      }
    }
  }
  if (split.sums) return;
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int r = row_of(m, e), t = token_of(n, e);
        if (r >= output.n_out || t >= p.n_tokens) continue;
        output.out[static_cast<int64_t>(t) * output.n_out + r] =
            __fmul_rn(total[m][n][e], x.scales[t]) + (output.bias ? output.bias[r] : 0.0f);
      }
    }
  }
}

template <class Product, int kTokens>
void launch_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const Products products = products_of(args, dtype, kTileRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  constexpr size_t kSharedBytes = kStages * sizeof(Stage<kTokens>);
  const Split split = split_parts(stream, products, n_token_tiles, parts, kSharedBytes, x.part_sums);
  launch(stream, multiply_tiles<Product, kTokens>,
         {.grid = dim3(static_cast<unsigned>(n_token_tiles), static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(split.n_blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kSharedBytes},
         products, x, parts, split);
  add_parts(stream, products, parts, split, x.scales);
}

// The widest tile that the batch fills and the GPU has room for.
template <class Product>
void choose_tile(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const int64_t n_tokens = args.x.n_rows();
  const size_t room = gpu_of(stream).shared_bytes_per_block / kStages;
  const auto run = n_tokens > 64 && sizeof(Stage<128>) <= room  ? launch_gemm<Product, 128>
                   : n_tokens > 32 && sizeof(Stage<64>) <= room ? launch_gemm<Product, 64>
                                                                : launch_gemm<Product, 32>;
  run(stream, args, dtype, x);
}

}  // namespace

void half_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const auto run = dtype == DType::bf16 ? choose_tile<Bf16Product> : choose_tile<F16Product>;
  run(stream, args, dtype, x);
}

}  // namespace parlance::cuda
