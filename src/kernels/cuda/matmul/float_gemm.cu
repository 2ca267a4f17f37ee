// Many tokens times f32 weights on the tensor cores, which take floats of eleven bits of mantissa (tf32):
// both sides are sums of two such, whose product is short of f32's by what the smaller ones make. A block
// computes kTileRows rows by kTokens tokens in steps of kStepValues values, of which several are on their way
// while one is multiplied.
#include "base/checked.h"
#include "kernels/cuda/matmul/mma.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kTileRows = 128, kTokens = 64;
constexpr int kAlongRows = 4, kAlongTokens = 2;  // warps
constexpr int kThreads = 32 * kAlongRows * kAlongTokens;
constexpr int kRowTiles = kTileRows / kAlongRows / 16, kColumns = kTokens / kAlongTokens / 8;  // of a warp
using OfTile = TileShares<kThreads, kAlongRows, kRowTiles, kColumns>;
constexpr int kStepValues = 32, kStages = 3;
constexpr int kPieceValues = kPieceBytes / static_cast<int>(sizeof(float)),
              kStepPieces = kStepValues / kPieceValues;
constexpr int kStride = kStepValues + kPieceValues;  // rows of shared memory start in different banks
constexpr int kMmaValues = 8;

struct Stage {
  alignas(16) float w[kTileRows][kStride];
  alignas(16) float x[kTokens][kStride];
};

// Floats as sums of two that the tensor cores take, which leave the last 13 bits out: rounded, halves away
// from zero, by integers, since conversions take several times as long.
template <int n>
struct Halved {
  uint32_t high[n], low[n];

  __device__ explicit Halved(const uint32_t (&floats)[n]) {
    constexpr uint32_t kHalf = 1 << 12, kLeftOut = (1 << 13) - 1;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      high[i] = (floats[i] + kHalf) & ~kLeftOut;
      low[i] = __float_as_uint(__uint_as_float(floats[i]) - __uint_as_float(high[i])) + kHalf;
    }
  }
};

__device__ inline void multiply_add_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Block (tile of tokens, tile of rows). Tiles of tokens that share weights run side by side.
__global__ void __launch_bounds__(kThreads, 2)
    multiply_floats(const __grid_constant__ Products p, const float* x) {
  extern __shared__ uint4 dynamic[];
  auto* const stages = reinterpret_cast<Stage*>(dynamic);
  let_next_start();
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * kTileRows;
  const int first_token = blockIdx.x * kTokens, n_steps = (p.n_in + kStepValues - 1) / kStepValues;
  const int row_of_thread = threadIdx.x / kStepPieces, piece = threadIdx.x % kStepPieces;
  constexpr int kRowsAtOnce = kThreads / kStepPieces;
  // Rows, tokens and values that do not exist are zero.
  const auto copy_weights = [&](int step) {
    const int at = step * kStepValues + piece * kPieceValues;
#pragma unroll
    for (int r = row_of_thread; r < kTileRows; r += kRowsAtOnce) {
      const bool exists = first_row + r < output.n_out && at < p.n_in;
      copy_piece(
          &stages[step % kStages].w[r][piece * kPieceValues],
          output.weight +
              (exists ? (first_row + r) * output.row_bytes + at * static_cast<int64_t>(sizeof(float)) : 0),
          exists ? kPieceBytes : 0);
    }
  };
  const auto copy_tokens = [&](int step) {
    const int at = step * kStepValues + piece * kPieceValues;
#pragma unroll
    for (int t = row_of_thread; t < kTokens; t += kRowsAtOnce) {
      const bool exists = first_token + t < p.n_tokens && at < p.n_in;
      copy_piece(&stages[step % kStages].x[t][piece * kPieceValues],
                 x + (exists ? static_cast<int64_t>(first_token + t) * p.n_in + at : 0),
                 exists ? kPieceBytes : 0);
    }
  };
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < n_steps) copy_weights(i);
  }
  wait_for_previous();
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < n_steps) copy_tokens(i);
    end_copy_group();
  }

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp % kAlongRows * kRowTiles * 16, column = warp / kAlongRows * kColumns * 8;
  constexpr int kStrideBytes = kStride * static_cast<int>(sizeof(float));
  float sums[kRowTiles][kColumns][4] = {};
  for (int step = 0; step < n_steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // the step is there for all threads, and none still reads the one before
    if (step + kStages - 1 < n_steps) {
      copy_weights(step + kStages - 1);
      copy_tokens(step + kStages - 1);
    }
    end_copy_group();
    const Stage& stage = stages[step % kStages];
    float of_step[kRowTiles][kColumns][4] = {};
#pragma unroll
    for (int k = 0; k < kStepValues; k += kMmaValues) {
      const auto load = [&](uint32_t(&m)[4], const float* first, int offset) {
        load_matrices(m, reinterpret_cast<const std::byte*>(first) + offset);
      };
      uint32_t floats[4];
      const auto load_rows = [&](int m) {
        load(floats, &stage.w[row + 16 * m][k], offset_in_a(lane, kStrideBytes));
        return Halved<4>(floats);
      };
      static_assert(kRowTiles == 2);
      const Halved<4> a[kRowTiles] = {load_rows(0), load_rows(1)};
#pragma unroll
      for (int n = 0; n < kColumns; n += 2) {
        load(floats, &stage.x[column + 8 * n][k], offset_in_b(lane, kStrideBytes));
        const Halved<4> b(floats);
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
#pragma unroll
          for (int m = 0; m < kRowTiles; ++m) {
            float(&to)[4] = of_step[m][n + pair];
            multiply_add_tf32(to, a[m].low, b.high[2 * pair], b.high[2 * pair + 1]);
            multiply_add_tf32(to, a[m].high, b.low[2 * pair], b.low[2 * pair + 1]);
            multiply_add_tf32(to, a[m].high, b.high[2 * pair], b.high[2 * pair + 1]);
          }
        }
      }
    }
    // Tensor cores cut off what they add up, again and again; so steps are added up here.
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[m][n][e] += of_step[m][n][e];
      }
    }
  }
  OfTile::store(p, output, first_row, first_token, sums);
}

}  // namespace

void float_gemm(Stream& stream, const MatmulArgs& args) {
  const Products products = products_of(args, DType::f32, kTileRows);
  launch(stream, multiply_floats,
         {.grid = dim3(static_cast<unsigned>(div_up(products.n_tokens, kTokens)),
                       static_cast<unsigned>(products.n_tiles)),
          .block = dim3(kThreads),
          .shared_bytes = kStages * sizeof(Stage)},
         products, args.x.as<const float>());
}

}  // namespace parlance::cuda
