// One token times f16 or bf16 weights: bound by the speed at which weights arrive. A block takes tiles of
// rows one after the other, each of its warps a part of them along n_in, whose next pieces are on their way
// to shared memory of the warp's own, beyond the end of a tile too, and before the token is there. Each block
// rounds the token for itself: that takes less than a launch. The sums are those of half_gemm, so tensor
// cores make them, most of whose columns stay empty.
//
// All products of a small model are made by the same instructions, however many stages they have: those that
// another product has just used are at hand.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

constexpr int kRows = 16;  // of a tile
constexpr int kStepBlocks = kHalfStepValues / kPairedValues;
constexpr int kBlocksAtOnce = 2;  // on a multiprocessor
// Pieces of four values that a lane holds of its part: of a short one all.
constexpr int kLeastHeld = 3, kShortHeld = 4, kLongHeld = 12;
// Blocks of a multiprocessor that its registers are enough for, with one of the next kernel's.
constexpr int resident_blocks(int n_held) {
  return n_held == kLeastHeld ? 4 : n_held == kShortHeld ? 3 : kBlocksAtOnce;
}
using Stage = RowStage<kRows>;

// Adds a step to the sums of 16 rows; column 0 of the sums is the token's. `x`: its halves, from the step on.
template <class Product>
__device__ void multiply_step(Stage& stage, const uint4* const (&x)[kHalves], float (&acc)[4]) {
  const int lane = threadIdx.x % 32, g = lane / 4, i = lane % 4;
#pragma unroll
  for (int block = 0; block < kStepBlocks; ++block) {
    uint4 values[kHalves] = {};
    if (g == 0) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) values[half] = x[half][block * 4 + i];
    }
    uint32_t a[2][4];
#pragma unroll
    for (int k = 0; k < 2; ++k) load_matrices(a[k], &stage.at(lane % 16, block * 4 + k * 2 + lane / 16));
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      Product::multiply_add(acc, a[0], values[half].x, values[half].y);
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      Product::multiply_add(acc, a[1], values[half].z, values[half].w);
  }
}

__host__ __device__ constexpr int x_bytes(int part_steps) {  // of a warp
  return part_steps * kHalfStepValues * kHalves * static_cast<int>(sizeof(uint16_t));
}

// Steps that are on their way before they are asked for, at most; so few are all.
constexpr int kMostAhead = 5, kFewSteps = 6;

// Until all but so many groups of copies are there, which are at least one.
__device__ inline void wait_for_all_but(int n_groups) {
  switch (n_groups) {
    case 1:
      return wait_for_copies<1>();
    case 2:
      return wait_for_copies<2>();
    case 3:
      return wait_for_copies<3>();
    case 4:
      return wait_for_copies<4>();
    default:
      return wait_for_copies<kMostAhead>();
  }
}

// What a warp has on its way: steps, which may be all that there are, and the stages that these take turns
// at.
struct Ahead {
  int n_steps, n_stages;
  bool has_all;
};

// What becomes of a tile's sums: a lane of the first warp has a row's, one of the second half of a gate's
// tile what the gate meets.
struct RowEnd {
  bool is_stored;
  float* to;
  float bias;

  __device__ RowEnd(const Products& p, int tile, int lane, int part) {
    const Output& output = output_of_tile(p, tile);
    const int n_stored = p.is_gated ? kRows / 2 : kRows, of_tile = lane % kRows;
    const int row = (tile - output.first_tile) * n_stored + of_tile % n_stored;
    const bool exists = part == 0 && row < output.n_out;
    is_stored = exists && lane < n_stored;
    to = output.out + row;
    const float* const biases = (of_tile < n_stored ? output : p.outputs[1]).bias;
    bias = biases && exists ? biases[row] : 0.0f;
  }
  // What the row is added to.
  __device__ float before(MatmulEnd end) const { return is_stored && end == MatmulEnd::add ? *to : 0.0f; }
};

// Block: a warp for each part. Shared memory: of each warp its stages, and both halves of its part of x. With
// `norm`, the token's pieces of four values are as many as threads.
template <class Product, int kHeld>
__global__ void __launch_bounds__(32 * kMostParts, resident_blocks(kHeld))
    multiply_rows(const __grid_constant__ Products p, const float* x, const float* norm, float eps,
                  MatmulEnd end_of_rows, const Parts parts, const Ahead steps_ahead) {
  extern __shared__ uint4 shared[];
  __shared__ float sums[2][kMostParts][kRows];
  let_next_start();
  const int thread = threadIdx.x, lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const int begin = part * parts.units;
  const int end = min(begin + parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const int n_stages = steps_ahead.n_stages;
  uint8_t* const own = reinterpret_cast<uint8_t*>(shared) +
                       part * (n_stages * static_cast<int>(sizeof(Stage)) + x_bytes(parts.units));
  auto* const stages = reinterpret_cast<Stage*>(own);
  RowsAhead<kRows> ahead(p, begin, end, blockIdx.x, gridDim.x);
#pragma unroll 1
  for (int stage = 0; stage < steps_ahead.n_steps; ++stage) ahead.copy(stages[stage]);
  // What can be known before the token is there: what says it may have to be waited for.
  RowEnd row_end(p, blockIdx.x, lane, part);
  const bool has_norm = kHeld != kLongHeld && norm;
  float4 weights = {};
  if (has_norm) weights = reinterpret_cast<const float4*>(norm)[thread];
  wait_for_previous();
  float before = row_end.before(end_of_rows);

  const int n_part = parts.units * kHalfStepValues, first = begin * kHalfStepValues;
  auto* const halves = reinterpret_cast<uint16_t*>(own + n_stages * static_cast<int>(sizeof(Stage)));
  PartOfX<kHeld, kHeld == kLongHeld> values(x + first, min(n_part, p.n_in - first));
  if (has_norm) {
    // The second tile's sums come behind a barrier of the first's.
    auto& partial = reinterpret_cast<float(&)[kMostRowLanes / 32]>(sums[1]);
    float4& piece = values.first_piece();
    SquaresOfRow squares;
    squares.add(piece);
    squares.leave(thread, partial);
    __syncthreads();
    piece = normalised(piece, scale_of_squares(partial, p.n_in, eps), weights);
  }
  const float scale = values.template scale<typename Product::Half>();
  values.template round<typename Product::Half, true>(n_part, scale, halves, halves + n_part);
  const auto* x_first = reinterpret_cast<const uint4*>(halves);
  const auto* x_second = reinterpret_cast<const uint4*>(halves + n_part);

  if (steps_ahead.has_all) wait_for_copies<0>();
  __syncwarp();

  int stage = 0, turn = 0;
  for (int tile = blockIdx.x; tile < p.n_tiles; tile += gridDim.x, turn ^= 1) {
    float acc[4] = {};
    for (int step = begin; step < end; ++step) {
      if (!steps_ahead.has_all) {
        ahead.copy(stages[stage == 0 ? n_stages - 1 : stage - 1]);
        wait_for_all_but(steps_ahead.n_steps);
        __syncwarp();
      }
      const int at = (step - begin) * kStepPieces;
      multiply_step<Product>(stages[stage], {x_first + at, x_second + at}, acc);
      __syncwarp();
      stage = stage + 1 == n_stages ? 0 : stage + 1;
    }
    if (lane % 4 == 0) {
      sums[turn][part][lane / 4] = __fmul_rn(acc[0], scale);
      sums[turn][part][lane / 4 + 8] = __fmul_rn(acc[2], scale);
    }
    __syncthreads();  // once a tile: who comes back to these sums has passed the next one, and so has their
                      // reader
    if (part != 0) continue;
    float of_parts[kMostParts], total = 0;
#pragma unroll
    for (int of = 0; of < kMostParts; ++of) of_parts[of] = sums[turn][of][lane % kRows];
#pragma unroll
    for (int of = 0; of < kMostParts; ++of) total = of < parts.n ? add_part(total, of_parts[of]) : total;
    float value = total + row_end.bias;
    if (p.is_gated) value = silu(value) * __shfl_down_sync(kAllLanes, value, kRows / 2);
    if (row_end.is_stored) *row_end.to = end_of_rows == MatmulEnd::add ? before + value : value;
    if (const int next = tile + static_cast<int>(gridDim.x); next < p.n_tiles) {
      row_end = RowEnd(p, next, lane, part);
      before = row_end.before(end_of_rows);
    }
  }
}

size_t shared_bytes(const Parts& parts, int n_stages) {
  return static_cast<size_t>(parts.n) *
         (static_cast<size_t>(n_stages) * sizeof(Stage) + static_cast<size_t>(x_bytes(parts.units)));
}

// Dynamic shared memory that each of so many blocks of a multiprocessor can have, beside the sums.
size_t room_of_blocks(const Gpu& gpu, size_t n) {
  return shared_bytes_of_blocks(gpu, n) - 2 * kMostParts * kRows * sizeof(float);
}

// All that there is to come is on its way before the token is there, if that is little and there is room.
// Otherwise as many steps as leave room for the second block of a multiprocessor: the next kernel's weights
// may then be on their way while this one computes.
Ahead choose_ahead(const Gpu& gpu, const Parts& parts, int n_steps) {
  if (n_steps <= kFewSteps && shared_bytes(parts, n_steps) <= room_of_blocks(gpu, 1))
    return {n_steps, n_steps, true};
  int n_ahead = kMostAhead;
  while (n_ahead > 2 && shared_bytes(parts, n_ahead + 1) > room_of_blocks(gpu, kBlocksAtOnce)) --n_ahead;
  return {n_ahead, n_ahead + 1, false};
}

bool is_held(const Parts& parts, int n_held) {  // a lane has no more pieces
  return parts.units * kHalfStepValues <= 4 * 32 * n_held;
}
bool is_short(const Parts& parts) {
  return is_held(parts, kShortHeld);
}

// As many as leave room for one of the next kernel's. Where one more on each multiprocessor has a tile for
// each of them, and their steps are few enough to be on their way at once, these: a second tile of a block
// would wait.
int blocks_for(const Gpu& gpu, const Parts& parts, int n_tiles) {
  constexpr int kMore = kBlocksAtOnce + 1;
  const bool have_room = is_short(parts) && parts.units <= kFewSteps &&
                         shared_bytes(parts, parts.units) <= room_of_blocks(gpu, kMore);
  if (have_room && n_tiles <= kMore * gpu.n_multiprocessors) return n_tiles;
  return std::min(n_tiles, kBlocksAtOnce * gpu.n_multiprocessors);
}

template <class Product>
void run(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const int n_blocks = blocks_for(gpu_of(stream), parts, products.n_tiles);
  const Ahead ahead = choose_ahead(gpu_of(stream), parts, parts.units * div_up(products.n_tiles, n_blocks));
  launch(stream,
         is_held(parts, kLeastHeld) ? multiply_rows<Product, kLeastHeld>
         : is_short(parts)          ? multiply_rows<Product, kShortHeld>
                                    : multiply_rows<Product, kLongHeld>,
         {.grid = dim3(static_cast<unsigned>(n_blocks)),
          .block = dim3(32 * static_cast<unsigned>(parts.n)),
          .shared_bytes = shared_bytes(parts, ahead.n_stages),
          .takes_most_shared = true},
         products, args.products.x.as<const float>(), args.norm.as<const float>(), args.norm_eps, args.end,
         parts, ahead);
}

}  // namespace

void half_gemv(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  (dtype == DType::bf16 ? run<Bf16Product> : run<F16Product>)(stream, args, dtype);
}

bool half_gemv_serves(Stream& stream, const Tensor& x) {
  const Parts parts = parts_of(static_cast<int>(x.ne[0]), kHalfStepValues);
  return x.n_rows() == 1 && shared_bytes(parts, 3) <= room_of_blocks(gpu_of(stream), 1);
}

bool half_gemv_normalises(Stream& stream, const Tensor& x, const Tensor& norm) {
  const auto n = static_cast<int>(x.ne[0]);
  const Parts parts = parts_of(n, kHalfStepValues);
  return half_gemv_serves(stream, x) && n == kQuad * 32 * parts.n && n % (kQuad * 64) == 0 &&
         is_short(parts) && is_aligned(x) && is_aligned(norm);
}

}  // namespace parlance::cuda
