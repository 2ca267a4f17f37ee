// Tokens times f16 or bf16 weights on the tensor cores, summed in f32. Where sums have no order, in large
// pieces of a prompt, f16 weights meet tokens that are rounded to f16, each with a power of two of its own:
// half of the work, and off by no more than 2^-11 of each product. A block computes kTileRows rows by kTokens
// tokens in steps of 64 values, of which several are on their way while one is multiplied. For few tokens
// several blocks share the parts of a tile, and a kernel behind adds up what they have left.
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

// How warps share a tile.
template <int kTokens>
struct Shares {
  static constexpr int kAlongTokens = kTokens == 16 ? 1 : 2;
  static constexpr int kAlongRows = kWarps / kAlongTokens;
  static constexpr int kRowTiles = kTileRows / kAlongRows / 16;  // of 16 rows, of a warp
  static constexpr int kColumns = kTokens / kAlongTokens / 8;    // tiles of 8 tokens, of a warp
  static constexpr int kStages = kTokens <= 16 ? 4 : 3;          // few tokens wait for weights
  static constexpr int kBlocksAtOnce = kTokens <= 64 ? 2 : 1;    // on a multiprocessor
  using OfTile = TileShares<kThreads, kAlongRows, kRowTiles, kColumns>;
};

// Floats that a value of x is the sum of.
template <class Product, bool kHasOrder>
inline constexpr int kParts = !kHasOrder && std::is_same_v<Product, F16Product> ? 1 : kHalves;

template <int kTokens>
using Sums = float[Shares<kTokens>::kRowTiles][Shares<kTokens>::kColumns][4];

// A step in shared memory.
template <int kTokens, int kOfX>
struct Stage {
  alignas(16) uint16_t w[kTileRows][kHalfStride];
  alignas(16) uint16_t x[kOfX][kTokens][kHalfStride];
};

// A thread's pieces of every step; where they are is worked out once.
template <int kTokens, int kOfX>
class Copies {
  static constexpr int kRowsAtOnce = kThreads / kStepPieces;

 public:
  __device__ Copies(const Output& output, int first_row, int n_in, const HalfActivations& x, int first_token)
      : row_(threadIdx.x / kStepPieces),
        piece_(threadIdx.x % kStepPieces),
        n_rows_(output.n_out - first_row - row_),
        n_steps_((n_in / kPieceValues - piece_ + kStepPieces - 1) / kStepPieces),
        w_(output.weight + (n_rows_ > 0 ? (first_row + row_) * output.row_bytes : 0) + piece_ * kPieceBytes),
        w_stride_(kRowsAtOnce * output.row_bytes),
        x_(x.halves + static_cast<int64_t>(first_token + row_) * x.row_values + piece_ * kPieceValues),
        x_stride_(static_cast<int64_t>(kRowsAtOnce) * x.row_values),
        x_half_(static_cast<int64_t>(x.n_tokens) * x.row_values) {}

  // Rows and values that do not exist are zero.
  __device__ void copy_weights(Stage<kTokens, kOfX>& stage, int step) const {
    const uint8_t* from = w_ + step * (kStepPieces * kPieceBytes);
    const int n_rows = step < n_steps_ ? n_rows_ : 0;
#pragma unroll
    for (int i = 0; i < kTileRows / kRowsAtOnce; ++i) {
      const bool exists = i * kRowsAtOnce < n_rows;
      copy_piece(&stage.w[row_ + i * kRowsAtOnce][piece_ * kPieceValues], exists ? from : w_,
                 exists ? kPieceBytes : 0);
      from += w_stride_;
    }
  }

  __device__ void copy_tokens(Stage<kTokens, kOfX>& stage, int step) const {
    if (kTokens < kRowsAtOnce && row_ >= kTokens) return;
    const uint16_t* from = x_ + step * kHalfStepValues;
#pragma unroll
    for (int i = 0; i < (kTokens + kRowsAtOnce - 1) / kRowsAtOnce; ++i) {
      uint16_t* to = &stage.x[0][row_ + i * kRowsAtOnce][piece_ * kPieceValues];
#pragma unroll
      for (int half = 0; half < kOfX; ++half)
        copy_piece(to + half * kTokens * kHalfStride, from + half * x_half_, kPieceBytes);
      from += x_stride_;
    }
  }

 private:
  const int row_, piece_;
  const int n_rows_, n_steps_;  // that exist, from this thread's on
  const uint8_t* const w_;
  const int64_t w_stride_;
  const uint16_t* const x_;
  const int64_t x_stride_, x_half_;
};

// Adds a step to a warp's sums; rows from `row` on, tokens from `column` on are the warp's.
template <class Product, int kTokens, int kOfX>
__device__ void multiply_step(const Stage<kTokens, kOfX>& stage, int row, int column, int lane,
                              Sums<kTokens>& acc) {
  constexpr int kRowTiles = Shares<kTokens>::kRowTiles, kColumns = Shares<kTokens>::kColumns;
  const int in_a = offset_in_a(lane, kHalfStride * 2) / 2, in_b = offset_in_b(lane, kHalfStride * 2) / 2;
#pragma unroll
  for (int k = 0; k < kHalfStepValues; k += kMmaValues) {
    uint32_t a[kRowTiles][4];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) load_matrices(a[m], &stage.w[row + 16 * m][k] + in_a);
#pragma unroll
    for (int half = 0; half < kOfX; ++half) {
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

// A block's place in the products, and its part of them.
template <int kTokens>
struct Place {
  using S = Shares<kTokens>;
  const Output& output;
  int first_row, first_token;
  int lane, row, column;  // the warp's rows and tokens in the tile

  __device__ explicit Place(const Products& p)
      : output(output_of_tile(p, blockIdx.y)),
        first_row((static_cast<int>(blockIdx.y) - output.first_tile) * kTileRows),
        first_token(blockIdx.x * kTokens),
        lane(threadIdx.x % 32),
        row(static_cast<int>(threadIdx.x) / 32 % S::kAlongRows * S::kRowTiles * 16),
        column(static_cast<int>(threadIdx.x) / 32 / S::kAlongRows * S::kColumns * 8) {}

  __device__ void scale(Sums<kTokens>& sums, const HalfActivations& x, int part) const {
#pragma unroll
    for (int n = 0; n < S::kColumns; ++n) {
      const float2 scales = x.scales_of(first_token + column + 8 * n + lane % 4 * 2, part);
#pragma unroll
      for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sums[m][n][e] = __fmul_rn(sums[m][n][e], e % 2 == 0 ? scales.x : scales.y);
      }
    }
  }
};

// Block (tile of tokens, tile of rows, its parts, or one if sums have no order). Tiles of tokens that share
// weights run side by side.
template <class Product, int kTokens, bool kHasOrder>
__global__ void __launch_bounds__(kThreads, kHasOrder ? Shares<kTokens>::kBlocksAtOnce : 2)
    multiply_tiles(const __grid_constant__ Products p, const HalfActivations x, const Parts parts,
                   const Split split) {
  using S = Shares<kTokens>;
  constexpr int kOfX = kParts<Product, kHasOrder>;
  extern __shared__ uint4 shared[];
  let_next_start();
  auto* stages = reinterpret_cast<Stage<kTokens, kOfX>*>(shared);
  const Place<kTokens> place(p);
  const Copies<kTokens, kOfX> copies(place.output, place.first_row, p.n_in, x, place.first_token);
  const int first_part = blockIdx.z * split.parts_per_block;
  const int end_part = kHasOrder ? min(first_part + split.parts_per_block, parts.n) : first_part + 1;
  const int begin = first_part * parts.units;
  const int end = min(end_part * parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
#pragma unroll
  for (int i = 0; i < S::kStages - 1; ++i) {
    if (begin + i < end) copies.copy_weights(stages[i], begin + i);
  }
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < S::kStages - 1; ++i) {
    if (begin + i < end) copies.copy_tokens(stages[i], begin + i);
    end_copy_group();
  }

  int current = 0;
  const auto add_steps = [&](int first_step, int end_step, Sums<kTokens>& acc) {
    for (int step = first_step; step < end_step; ++step) {
      wait_for_copies<S::kStages - 2>();
      __syncthreads();  // the step is there for all threads, and none still reads the stage before it
      const int next = step + S::kStages - 1, free = (current + S::kStages - 1) % S::kStages;
      if (next < end) {
        copies.copy_weights(stages[free], next);
        copies.copy_tokens(stages[free], next);
      }
      end_copy_group();
      multiply_step<Product>(stages[current], place.row, place.column, place.lane, acc);
      current = (current + 1) % S::kStages;
    }
  };
  Sums<kTokens> total = {};
  if constexpr (kHasOrder) {
    for (int part = first_part; part < end_part; ++part) {
      Sums<kTokens> acc = {};
      add_steps(part * parts.units, min((part + 1) * parts.units, end), acc);
      place.scale(acc, x, part);
#pragma unroll
      for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
        for (int n = 0; n < S::kColumns; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) total[m][n][e] = add_part(total[m][n][e], acc[m][n][e]);
        }
      }
      if (split.sums) S::OfTile::leave(split, parts.n, part, acc);
    }
  } else {
    add_steps(begin, end, total);
    place.scale(total, x, 0);
    if (split.sums) S::OfTile::leave(split, parts.n, first_part, total);
  }
  if (!split.sums) S::OfTile::store(p, place.output, place.first_row, place.first_token, total);
}

template <class Product, int kTokens, bool kHasOrder>
void launch_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const Products products = products_of(args, dtype, kTileRows);
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  constexpr size_t kSharedBytes =
      Shares<kTokens>::kStages * sizeof(Stage<kTokens, kParts<Product, kHasOrder>>);
  const Parts parts = kHasOrder ? parts_of(products.n_in, kHalfStepValues)
                                : parts_for_blocks(stream, products, n_token_tiles, kHalfStepValues,
                                                   kSharedBytes, kTileRows * kTokens);
  const Split split = split_parts(stream, int64_t{n_token_tiles} * products.n_tiles, parts, kSharedBytes,
                                  kTileRows * kTokens, x.part_sums);
  launch(stream, multiply_tiles<Product, kTokens, kHasOrder>,
         {.grid = dim3(static_cast<unsigned>(n_token_tiles), static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(split.n_blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kSharedBytes},
         products, x, parts, split);
  launch_add_parts<typename Shares<kTokens>::OfTile>(stream, products, split, parts.n, n_token_tiles);
}

template <int kTokens>
bool has_room(Stream& stream) {
  return Shares<kTokens>::kStages * sizeof(Stage<kTokens, kHalves>) <= gpu_of(stream).shared_bytes_per_block;
}

// The widest tile that the batch fills and the GPU has room for.
template <class Product>
auto tile_for(Stream& stream, int64_t n_tokens, bool has_order) {
  if (n_tokens > 64 && !has_order)
    return has_room<128>(stream) ? launch_gemm<Product, 128, false> : launch_gemm<Product, 32, false>;
  if (n_tokens > 32 && has_room<64>(stream)) return launch_gemm<Product, 64, true>;
  return n_tokens > 16 ? launch_gemm<Product, 32, true> : launch_gemm<Product, 16, true>;
}

}  // namespace

void half_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const int64_t n_tokens = args.x.n_rows();
  const bool has_order = has_one_order(stream, n_tokens);
  const auto run = dtype == DType::bf16 ? tile_for<Bf16Product>(stream, n_tokens, has_order)
                                        : tile_for<F16Product>(stream, n_tokens, has_order);
  run(stream, args, dtype, x);
}

}  // namespace parlance::cuda
