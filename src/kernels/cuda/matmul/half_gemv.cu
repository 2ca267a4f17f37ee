// Few tokens times f16 or bf16 weights: bound by the speed at which weights arrive. A block computes 16 rows,
// a warp of it a part of them along n_in, with the next steps of its rows on their way to shared memory of
// its own. A single token is rounded on the way, by each block for itself: that takes less than a launch.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 16;  // of a block
constexpr int kTokens = 8;
constexpr int kAhead = 3;  // steps of weights on their way
constexpr int kStepPieces = kHalfStepValues / kPieceValues;
constexpr int kStepBlocks = kHalfStepValues / kPairedValues;

// What a lane has of a step: a piece of every 32 values of rows g and g + 8.
struct Step {
  uint4 low[kStepBlocks], high[kStepBlocks];

  // Pieces past the end of a row are zero. Weights are read once, so they are the first to leave the caches.
  __device__ void load(const uint4* low_row, const uint4* high_row, int step, int n_pieces) {
#pragma unroll
    for (int block = 0; block < kStepBlocks; ++block) {
      const int at = step * kStepPieces + block * 4 + static_cast<int>(threadIdx.x) % 4;
      low[block] = at < n_pieces ? __ldcs(low_row + at) : uint4{};
      high[block] = at < n_pieces ? __ldcs(high_row + at) : uint4{};
    }
  }
};

// Of four lanes, each with a piece of four words, lane i gets word i of each piece.
__device__ uint4 exchange_words(uint4 v) {
  const bool is_odd = threadIdx.x & 1, is_upper = threadIdx.x & 2;
  uint32_t a = __shfl_xor_sync(kAllLanes, is_odd ? v.x : v.y, 1);
  uint32_t b = __shfl_xor_sync(kAllLanes, is_odd ? v.z : v.w, 1);
  (is_odd ? v.x : v.y) = a;
  (is_odd ? v.z : v.w) = b;
  a = __shfl_xor_sync(kAllLanes, is_upper ? v.x : v.z, 2);
  b = __shfl_xor_sync(kAllLanes, is_upper ? v.y : v.w, 2);
  (is_upper ? v.x : v.z) = a;
  (is_upper ? v.y : v.w) = b;
  return v;
}

// Block: 32 lanes, a warp for each part. Shared memory: the warps' stages; for a single token both halves of
// each part.
template <class Product, bool kIsSingle>
__global__ void __launch_bounds__(32 * kMostParts, 2)
    multiply_rows(const __grid_constant__ Products p, const float* x, const HalfActivations many,
                  const Parts parts) {
  extern __shared__ uint4 shared[];
  __shared__ float sums[kMostParts][kTokens][kRows];
  let_next_start();
  const int lane = threadIdx.x, part = threadIdx.y;
  const int g = lane / 4, i = lane % 4;
  const Output& output = output_of_tile(p, blockIdx.x);
  const int first_row = (static_cast<int>(blockIdx.x) - output.first_tile) * kRows;
  const int begin = part * parts.units;
  const int end = min(begin + parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const auto row_of = [&](int row) {
    return reinterpret_cast<const uint4*>(output.weight +
                                          min(first_row + row, output.n_out - 1) * output.row_bytes);
  };
  const uint4 *low_row = row_of(g), *high_row = row_of(g + 8);
  const int n_pieces = p.n_in / kPieceValues;
  Step steps[kAhead];
#pragma unroll
  for (int ahead = 0; ahead < kAhead; ++ahead) steps[ahead].load(low_row, high_row, begin + ahead, n_pieces);
  wait_for_previous();

  // A token's halves, from the part's first value on.
  const uint4* x_halves[kHalves];
  float scales[2];  // of this lane's two tokens
  if constexpr (kIsSingle) {
    const int n_part = parts.units * kHalfStepValues, first = begin * kHalfStepValues;
    auto* halves = reinterpret_cast<uint16_t*>(shared) + part * kHalves * n_part;
    const int n = min(n_part, p.n_in - first);
    scales[0] = scales[1] = scale_of_row<typename Product::Half>(largest_of_part(x + first, n), parts.n);
    round_part<typename Product::Half, true>(x + first, n, n_part, scales[0], halves, halves + n_part);
    __syncwarp();
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      x_halves[half] = reinterpret_cast<const uint4*>(halves + half * n_part);
  } else {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int64_t row = static_cast<int64_t>(half) * many.n_tokens + g;
      x_halves[half] =
          reinterpret_cast<const uint4*>(many.halves + row * many.row_values + begin * kHalfStepValues);
    }
    for (int j = 0; j < 2; ++j) scales[j] = many.scales[2 * i + j];
  }

  float acc[4] = {};
  for (int first = begin; first < end; first += kAhead) {
#pragma unroll
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      const int step = first + ahead;
      if (step >= end) break;
#pragma unroll
      for (int block = 0; block < kStepBlocks; ++block) {
        uint4 values[kHalves] = {};
        if (!kIsSingle || g == 0) {
          const int at = (step - begin) * kStepPieces + block * 4 + i;
#pragma unroll
          for (int half = 0; half < kHalves; ++half) values[half] = x_halves[half][at];
        }
        const uint4 low = exchange_words(steps[ahead].low[block]);
        const uint4 high = exchange_words(steps[ahead].high[block]);
        const uint32_t a[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          Product::multiply_add(acc, a[0], values[half].x, values[half].y);
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          Product::multiply_add(acc, a[1], values[half].z, values[half].w);
      }
      if (step + kAhead < end) steps[ahead].load(low_row, high_row, step + kAhead, n_pieces);
    }
  }

#pragma unroll
  for (int e = 0; e < 4; ++e) sums[part][2 * i + e % 2][g + e / 2 * 8] = acc[e];
  __shared__ float token_scales[kTokens];
  if (part == 0 && g == 0) token_scales[2 * i] = scales[0], token_scales[2 * i + 1] = scales[1];
  __syncthreads();
  const int thread = threadIdx.y * 32 + lane;
  for (int at = thread; at < kRows * p.n_tokens; at += 32 * static_cast<int>(blockDim.y)) {
    const int token = at / kRows, row = first_row + at % kRows;
    if (row >= output.n_out) continue;
    float total = 0;
    for (int of = 0; of < parts.n; ++of) total = add_part(total, sums[of][token][at % kRows]);
    output.out[static_cast<int64_t>(token) * output.n_out + row] =
        __fmul_rn(total, token_scales[token]) + (output.bias ? output.bias[row] : 0.0f);
  }
}

// Dynamic, of a block.
size_t shared_bytes(const Parts& parts, bool is_single) {
  if (!is_single) return 0;
  return static_cast<size_t>(parts.n * parts.units * kHalfStepValues) * kHalves * sizeof(uint16_t);
}

template <class Product>
void launch_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const Products products = products_of(args, dtype, kRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const bool is_single = x.halves == nullptr;
  launch(stream, is_single ? multiply_rows<Product, true> : multiply_rows<Product, false>,
         {.grid = dim3(static_cast<unsigned>(products.n_tiles)),
          .block = dim3(32, static_cast<unsigned>(parts.n)),
          .shared_bytes = shared_bytes(parts, is_single)},
         products, args.x.as<const float>(), x, parts);
}

}  // namespace

void half_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x) {
  const auto run = dtype == DType::bf16 ? launch_gemv<Bf16Product> : launch_gemv<F16Product>;
  run(stream, args, dtype, x);
}

bool half_gemv_rounds_itself(Stream& stream, const Tensor& x) {
  const Parts parts = parts_of(static_cast<int>(x.ne[0]), kHalfStepValues);
  constexpr size_t kSums = sizeof(float) * kMostParts * kTokens * kRows;
  return x.n_rows() == 1 && shared_bytes(parts, true) + kSums <= gpu_of(stream).shared_bytes_per_block;
}

}  // namespace parlance::cuda
