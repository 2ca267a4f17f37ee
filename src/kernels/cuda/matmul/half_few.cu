// A few tokens times f16 or bf16 weights: bound by the speed at which weights arrive, as one token is. A
// block keeps one part of the tokens along n_in in shared memory, which it rounds itself, and its warps go
// through tiles of rows, that part of them, whose next pieces are on their way to shared memory of the warp's
// own, before the tokens are there too. A cluster has a block for each part: when its blocks have gone
// through the same tiles, some warps add up the parts in their order, while the others go on. The sums are
// those of half_gemv and half_gemm.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 16;              // of a warp's tile
constexpr int kColumnTokens = 8;       // of a column of tiles
constexpr int kRowPad = kPieceValues;  // rows of tokens start in different banks

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

  // By all warps; tokens that do not exist are zero. `n` values of the part exist, n_part are padded.
  template <class Half, int kHeld>
  __device__ void round(const float* x, int64_t n_in, int n, int n_part, int n_tokens) const {
    for (int token = threadIdx.y; token < kTokens; token += blockDim.y) {
      const PartOfX<kHeld> values(x + token * n_in, token < n_tokens ? n : 0);
      const float scale = values.template scale<Half>();
      values.template round<Half, false>(n_part, scale, row(0, token), row(1, token));
      if (threadIdx.x == 0) scales[token] = scale;
    }
  }
};

// What a warp has of a tile and a part: 16 rows of 8 tokens for each column.
template <int kColumns>
using TileSums = float[kColumns][4];

template <class Product, int kColumns>
__device__ void multiply_tokens(RowStage<kRows>& stage, const Tokens<kColumns>& x, int value,
                                TileSums<kColumns>& acc) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int k = 0; k < kHalfStepValues / kMmaValues; ++k) {
    uint32_t a[4], b[kHalves][kColumns][2];
    x.load(value + k * kMmaValues, b);
    load_matrices(a, &stage.at(lane % 16, 2 * k + lane / 16));
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int column = 0; column < kColumns; ++column)
        Product::multiply_add(acc[column], a, b[half][column][0], b[half][column][1]);
    }
  }
}

// Where the warps of a block leave the sums of its part, for the other blocks of the cluster: twice, so that
// those of a round are read while the next ones are computed.
template <int kColumns>
struct LeftSums {
  float4* of_lanes;  // [2][warps][kColumns][32]

  __device__ float4* at(int round, int column) const {
    return of_lanes + ((round % 2 * blockDim.y + threadIdx.y) * kColumns + column) * 32 + threadIdx.x;
  }

  __device__ void leave(int round, const TileSums<kColumns>& sums, const float* scales) const {
    const int lane = threadIdx.x;
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const float2 scale = *reinterpret_cast<const float2*>(scales + column * kColumnTokens + lane % 4 * 2);
      const float(&of)[4] = sums[column];
      *at(round, column) = make_float4(__fmul_rn(of[0], scale.x), __fmul_rn(of[1], scale.y),
                                       __fmul_rn(of[2], scale.x), __fmul_rn(of[3], scale.y));
    }
  }

  __device__ void add(int round, int n_parts, TileSums<kColumns>& total) const {
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part >= n_parts) break;
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        const float4 of = load_from_block(at(round, column), static_cast<unsigned>(part));
        total[column][0] = add_part(total[column][0], of.x);
        total[column][1] = add_part(total[column][1], of.y);
        total[column][2] = add_part(total[column][2], of.z);
        total[column][3] = add_part(total[column][3], of.w);
      }
    }
  }
};

template <int kColumns>
__device__ void store_tile(const Output& output, int first_row, int n_tokens,
                           const TileSums<kColumns>& sums) {
  const int lane = threadIdx.x;
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int row = first_row + lane / 4 + e / 2 * 8;
      const int token = column * kColumnTokens + lane % 4 * 2 + e % 2;
      if (row >= output.n_out || token >= n_tokens) continue;
      output.out[static_cast<int64_t>(token) * output.n_out + row] =
          sums[column][e] + (output.bias ? output.bias[row] : 0.0f);
    }
  }
}

constexpr size_t tokens_bytes(const Parts& parts, int columns) {
  return static_cast<size_t>(kHalves * columns * kColumnTokens) *
         static_cast<size_t>(parts.units * kHalfStepValues + kRowPad) * sizeof(uint16_t);
}

// How a kernel is made: the most warps of a block, and the stages of each; of x, pieces that a lane holds
// while it rounds.
template <int kBlockWarps, int kRowStages, int kHeldPieces>
struct Make {
  static constexpr int kMostWarps = kBlockWarps, kStages = kRowStages, kHeld = kHeldPieces;

  static size_t shared_bytes(const Parts& parts, int columns, int n_warps) {
    const size_t sums = 2 * sizeof(float4) * 32 * static_cast<size_t>(columns);
    const size_t scales = sizeof(float) * static_cast<size_t>(columns * kColumnTokens);
    return static_cast<size_t>(n_warps) * (kStages * sizeof(RowStage<kRows>) + sums) + scales +
           tokens_bytes(parts, columns);
  }
};

// Block (cluster and, in it, part), of 32 lanes by warps. Shared memory: stages and sums of all warps,
// scales, tokens.
template <class Product, int kColumns, class M>
__global__ void __launch_bounds__(32 * M::kMostWarps)
    multiply_few(const __grid_constant__ Products p, const float* x, const Parts parts) {
  extern __shared__ uint4 shared[];
  let_next_start();
  constexpr int kStages = M::kStages;
  const int part = blockIdx.x % parts.n, cluster = blockIdx.x / parts.n, n_clusters = gridDim.x / parts.n;
  const int begin = part * parts.units;
  const int end = min(begin + parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const int warp = threadIdx.y, first_tile = warp * n_clusters + cluster;
  const int n_warps = blockDim.y, tiles_at_once = n_warps * n_clusters;
  auto* const all_stages = reinterpret_cast<RowStage<kRows>*>(shared);
  RowStage<kRows>* const stages = all_stages + warp * kStages;
  const LeftSums<kColumns> left{reinterpret_cast<float4*>(all_stages + n_warps * kStages)};
  auto* const scales = reinterpret_cast<float*>(left.of_lanes + 2 * n_warps * kColumns * 32);
  RowsAhead<kRows> ahead(p, begin, end, first_tile, tiles_at_once);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) ahead.copy(stages[stage]);
  wait_for_previous();

  const int n_part = parts.units * kHalfStepValues, first = begin * kHalfStepValues;
  const Tokens<kColumns> tokens{reinterpret_cast<uint16_t*>(scales + kColumns * kColumnTokens), scales,
                                n_part + kRowPad};
  tokens.template round<typename Product::Half, M::kHeld>(x + first, p.n_in, min(n_part, p.n_in - first),
                                                          n_part, p.n_tokens);
  __syncthreads();

  // All warps of the cluster have as many rounds, and by turns one block's add up a round's.
  const int n_rounds = (p.n_tiles + tiles_at_once - 1) / tiles_at_once;
  const auto finish_round = [&](int round) {
    wait_for_cluster();
    const int tile = first_tile + round * tiles_at_once;
    if (tile >= p.n_tiles || (warp + round) % parts.n != part) return;
    TileSums<kColumns> total = {};
    left.add(round, parts.n, total);
    const Output& output = output_of_tile(p, tile);
    store_tile<kColumns>(output, (tile - output.first_tile) * kRows, p.n_tokens, total);
  };
  int stage = 0;
  for (int round = 0; round < n_rounds; ++round) {
    TileSums<kColumns> acc = {};
    for (int step = begin; first_tile + round * tiles_at_once < p.n_tiles && step < end; ++step) {
      ahead.copy(stages[stage == 0 ? kStages - 1 : stage - 1]);
      wait_for_copies<kStages - 1>();
      __syncwarp();
      multiply_tokens<Product, kColumns>(stages[stage], tokens, (step - begin) * kHalfStepValues, acc);
      __syncwarp();
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    if (round > 0) finish_round(round - 1);
    __syncwarp();
    left.leave(round, acc, scales);
    __syncwarp();
    arrive_in_cluster();
  }
  finish_round(n_rounds - 1);
  __syncwarp();
  arrive_in_cluster();  // a block's sums are there until all have read them
  wait_for_cluster();
}

// As many clusters as run at the same time, of blocks with as many warps as leave the fewest without a tile
// in their last round. False where the GPU has no room for a cluster.
template <class Product, int kColumns, class M>
bool launch_few(Stream& stream, const MatmulArgs& args, const Products& products, const Parts& parts) {
  const auto n_parts = static_cast<unsigned>(parts.n);
  const auto with_warps = [&](int n) {
    return Shape{.grid = dim3(n_parts),
                 .block = dim3(32, static_cast<unsigned>(n)),
                 .shared_bytes = M::shared_bytes(parts, kColumns, n)};
  };
  const auto kernel = multiply_few<Product, kColumns, M>;
  const int n_at_once =
      clusters_at_once(stream, reinterpret_cast<const void*>(kernel), with_warps(M::kMostWarps), n_parts);
  if (n_at_once == 0) return false;
  const int n_clusters = std::min(n_at_once, div_up(products.n_tiles, M::kMostWarps));
  const int n_tiles = div_up(products.n_tiles, n_clusters);
  int n_warps = M::kMostWarps;
  for (int n = n_warps; n > M::kMostWarps / 2; --n) {
    if (div_up(n_tiles, n) * n < div_up(n_tiles, n_warps) * n_warps) n_warps = n;
  }
  Shape shape = with_warps(n_warps);
  shape.grid.x *= static_cast<unsigned>(n_clusters);
  launch_in_clusters(stream, kernel, shape, n_parts, products, args.x.as<const float>(), parts);
  return true;
}

using ForShortParts = Make<16, 5, 4>;
using ForLongParts = Make<9, 6, 12>;

template <class M>
bool has_room(const Gpu& gpu, const Parts& parts) {
  return M::shared_bytes(parts, 2, M::kMostWarps) <= gpu.shared_bytes_per_block;
}

template <class Product>
bool choose_make(Stream& stream, const MatmulArgs& args, const Products& products, const Parts& parts) {
  const bool is_narrow = products.n_tokens <= kColumnTokens;
  const auto run =
      has_room<ForShortParts>(gpu_of(stream), parts)
          ? is_narrow ? launch_few<Product, 1, ForShortParts> : launch_few<Product, 2, ForShortParts>
      : is_narrow ? launch_few<Product, 1, ForLongParts>
                  : launch_few<Product, 2, ForLongParts>;
  return run(stream, args, products, parts);
}

}  // namespace

bool half_few(Stream& stream, const MatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const Gpu& gpu = gpu_of(stream);
  if (products.n_tokens > kMostFewTokens || gpu.compute_capability < 90 ||
      !has_room<ForLongParts>(gpu, parts))
    return false;
  const auto run = dtype == DType::bf16 ? choose_make<Bf16Product> : choose_make<F16Product>;
  return run(stream, args, products, parts);
}

}  // namespace parlance::cuda
