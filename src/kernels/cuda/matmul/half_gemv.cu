// One token times f16 or bf16 weights: bound by the speed at which weights arrive. A block takes tiles of
// rows one after the other, each of its warps a part of them along n_in, whose next pieces are on their way
// to shared memory of the warp's own, beyond the end of a tile too, and before the token is there. Each block
// rounds the token for itself: that takes less than a launch. The sums are those of half_gemm, so tensor
// cores make them, most of whose columns stay empty.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/rows_ahead.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

constexpr int kRows = 16;  // of a tile
constexpr int kStepBlocks = kHalfStepValues / kPairedValues;
constexpr int kBlocksAtOnce = 2;  // on a multiprocessor
using Stage = RowStage<kRows>;

// Adds a step to the sums of 16 rows; column 0 of the sums is the token's. `x`: its halves, from the step on.
template <class Product>
__device__ void multiply_step(Stage& stage, const uint4* const (&x)[kHalves], float (&acc)[4]) {
  const int lane = threadIdx.x, g = lane / 4, i = lane % 4;
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

// Block: 32 lanes, a warp for each part. Shared memory: of each warp its stages, and both halves of its part
// of x.
template <class Product, int kStages, int kHeld>
__global__ void __launch_bounds__(32 * kMostParts, kBlocksAtOnce)
    multiply_rows(const __grid_constant__ Products p, const float* x, MatmulEnd end_of_rows,
                  const Parts parts) {
  extern __shared__ uint4 shared[];
  __shared__ float sums[2][kMostParts][kRows];
  let_next_start();
  const int lane = threadIdx.x, part = threadIdx.y;
  const int begin = part * parts.units;
  const int end = min(begin + parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  uint8_t* const own = reinterpret_cast<uint8_t*>(shared) +
                       part * (kStages * static_cast<int>(sizeof(Stage)) + x_bytes(parts.units));
  auto* const stages = reinterpret_cast<Stage*>(own);
  RowsAhead<kRows> ahead(p, begin, end, blockIdx.x, gridDim.x);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) ahead.copy(stages[stage]);
  wait_for_previous();

  const int n_part = parts.units * kHalfStepValues, first = begin * kHalfStepValues;
  auto* const halves = reinterpret_cast<uint16_t*>(own + kStages * sizeof(Stage));
  const int n = min(n_part, p.n_in - first);
  float scale;
  {
    const PartOfX<kHeld> values(x + first, n);
    scale = values.template scale<typename Product::Half>();
    values.template round<typename Product::Half, true>(n_part, scale, halves, halves + n_part);
  }
  __syncwarp();
  const auto* x_first = reinterpret_cast<const uint4*>(halves);
  const auto* x_second = reinterpret_cast<const uint4*>(halves + n_part);

  int stage = 0, turn = 0;
  for (int tile = blockIdx.x; tile < p.n_tiles; tile += gridDim.x, turn ^= 1) {
    // Of the tile's rows, those that are stored: a lane each of the first warp.
    const Output& output = output_of_tile(p, tile);
    const int n_stored = p.is_gated ? kRows / 2 : kRows, of_tile = lane % kRows;
    const int row = (tile - output.first_tile) * n_stored + of_tile % n_stored;
    const bool exists = row < output.n_out, is_stored = part == 0 && lane < n_stored && exists;
    const float before = is_stored && end_of_rows == MatmulEnd::add ? output.out[row] : 0.0f;
    float acc[4] = {};
    for (int step = begin; step < end; ++step) {
      ahead.copy(stages[stage == 0 ? kStages - 1 : stage - 1]);
      wait_for_copies<kStages - 1>();
      __syncwarp();
      const int at = (step - begin) * kStepPieces;
      multiply_step<Product>(stages[stage], {x_first + at, x_second + at}, acc);
      __syncwarp();
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    if (lane % 4 == 0) {
      sums[turn][part][lane / 4] = __fmul_rn(acc[0], scale);
      sums[turn][part][lane / 4 + 8] = __fmul_rn(acc[2], scale);
    }
    __syncthreads();  // once a tile: who comes back to these sums has passed the next one, and so has their
                      // reader
    if (part != 0) continue;
    float total = 0;
    for (int of = 0; of < parts.n; ++of) total = add_part(total, sums[turn][of][of_tile]);
    const float* const bias = (of_tile < n_stored ? output : p.outputs[1]).bias;
    float value = total + (bias && exists ? bias[row] : 0.0f);
    if (p.is_gated) value = silu(value) * __shfl_down_sync(kAllLanes, value, kRows / 2);
    if (is_stored) output.out[row] = end_of_rows == MatmulEnd::add ? before + value : value;
  }
}

template <int kStages>
size_t shared_bytes(const Parts& parts) {
  return static_cast<size_t>(parts.n) * (kStages * sizeof(Stage) + static_cast<size_t>(x_bytes(parts.units)));
}

// Dynamic shared memory that each of so many blocks of a multiprocessor can have, beside the sums.
size_t room_of_blocks(const Gpu& gpu, size_t n) {
  return shared_bytes_of_blocks(gpu, n) - 2 * kMostParts * kRows * sizeof(float);
}

template <class Product, int kStages, int kHeld>
void launch_gemv(Stream& stream, const FusedMatmulArgs& args, const Products& products, int n_blocks) {
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  launch(stream, multiply_rows<Product, kStages, kHeld>,
         {.grid = dim3(static_cast<unsigned>(n_blocks)),
          .block = dim3(32, static_cast<unsigned>(parts.n)),
          .shared_bytes = shared_bytes<kStages>(parts)},
         products, args.products.x.as<const float>(), args.end, parts);
}

// As many stages as leave room for the second block of a multiprocessor, and no more than there is to come:
// the next kernel's weights may then be on their way while this one computes.
template <class Product>
void choose_stages(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kRows);
  const int n_blocks = std::min(products.n_tiles, kBlocksAtOnce * gpu_of(stream).n_multiprocessors);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const size_t room = room_of_blocks(gpu_of(stream), kBlocksAtOnce);
  const int n_steps = parts.units * div_up(products.n_tiles, n_blocks);
  const bool is_short = parts.units * kHalfStepValues <= 4 * 32 * 4;  // a lane has no more than four pieces
  const auto run =
      !is_short ? (shared_bytes<4>(parts) <= room ? launch_gemv<Product, 4, 12> : launch_gemv<Product, 3, 12>)
      : n_steps <= 2 ? launch_gemv<Product, 3, 4>
      : n_steps <= 3 ? launch_gemv<Product, 4, 4>
                     : launch_gemv<Product, 6, 4>;
  run(stream, args, products, n_blocks);
}

}  // namespace

void half_gemv(Stream& stream, const FusedMatmulArgs& args, DType dtype) {
  const auto run = dtype == DType::bf16 ? choose_stages<Bf16Product> : choose_stages<F16Product>;
  run(stream, args, dtype);
}

bool half_gemv_serves(Stream& stream, const Tensor& x) {
  const Parts parts = parts_of(static_cast<int>(x.ne[0]), kHalfStepValues);
  return x.n_rows() == 1 && shared_bytes<3>(parts) <= room_of_blocks(gpu_of(stream), 1);
}

}  // namespace parlance::cuda
