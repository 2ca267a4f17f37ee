// f32 weights: for a few tokens bound by the speed at which weights arrive. Lanes load 16 bytes of each row
// of a block at a time, the next while they multiply the last. More tokens are taken eight at a time: so the
// order of sums stays.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/gemv_sums.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 4;  // of a block; they share the activations that a lane has loaded
constexpr int kMaxWarps = 4;
constexpr int kPieceValues = 4;  // of 16 bytes

// The pieces that a lane loads of each row of a block in one go: kDepth of them, n_threads pieces apart.
// Weights are read once, so they are marked as the first to leave the caches.
template <int kDepth>
struct Pieces {
  uint4 w[kDepth][kRows];

  __device__ void load(const uint4* const (&rows)[kRows], int first, int n_threads, int n_pieces) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int at = first + d * n_threads;
#pragma unroll
      for (int r = 0; r < kRows; ++r) w[d][r] = at < n_pieces ? __ldcs(rows[r] + at) : uint4{};
    }
  }
};

// Block (tile of rows, tokens): 32 lanes, n_warps warps. Shared memory: the sums of the warps.
template <int kTokens, int kDepth>
__global__ void __launch_bounds__(32 * kMaxWarps, 4)
    multiply_rows(const __grid_constant__ Products p, const float* x) {
  extern __shared__ float shared[];
  let_next_start();
  const int thread = threadIdx.y * 32 + threadIdx.x, n_threads = 32 * blockDim.y;
  const int n_pieces = p.n_in / kPieceValues;
  const Output& output = output_of_tile(p, blockIdx.x);
  const int first_row = (static_cast<int>(blockIdx.x) - output.first_tile) * kRows;
  const int first_token = blockIdx.y * kTokens;
  const uint4* rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    rows[r] = reinterpret_cast<const uint4*>(output.weight +
                                             min(first_row + r, output.n_out - 1) * output.row_bytes);
  }
  Pieces<kDepth> pieces;
  pieces.load(rows, thread, n_threads, n_pieces);
  wait_for_previous();

  float sums[kTokens * kRows] = {};
  for (int first = thread; first < n_pieces; first += kDepth * n_threads) {
    const Pieces<kDepth> loaded = pieces;
    pieces.load(rows, first + kDepth * n_threads, n_threads, n_pieces);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int at = first + d * n_threads;
      if (at >= n_pieces) break;
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        const int token = min(first_token + t, p.n_tokens - 1);
        const float4 v =
            *reinterpret_cast<const float4*>(x + static_cast<int64_t>(token) * p.n_in + at * kPieceValues);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const uint4& w = loaded.w[d][r];
          float& sum = sums[t * kRows + r];
          sum = fmaf(__uint_as_float(w.x), v.x, sum);
          sum = fmaf(__uint_as_float(w.y), v.y, sum);
          sum = fmaf(__uint_as_float(w.z), v.z, sum);
          sum = fmaf(__uint_as_float(w.w), v.w, sum);
        }
      }
    }
  }
  store_sums<kRows, kTokens>(sums, shared, output, first_row, first_token, p.n_tokens);
}

template <int kTokens>
void launch_gemv(Stream& stream, const MatmulArgs& args) {
  constexpr int kDepth = kTokens <= 2 ? 2 : 1;  // where sums leave registers for more
  const Products products = products_of(args, DType::f32, kRows);
  const int n_warps = std::clamp((products.n_in / kPieceValues + 31) / 32, 1, kMaxWarps);
  launch(stream, multiply_rows<kTokens, kDepth>,
         {.grid = dim3(static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(div_up(products.n_tokens, kTokens))),
          .block = dim3(32, static_cast<unsigned>(n_warps)),
          .shared_bytes = sizeof(float) * static_cast<size_t>(n_warps * kRows * kTokens)},
         products, args.x.as<const float>());
}

}  // namespace

void float_gemv(Stream& stream, const MatmulArgs& args) {
  const int64_t n_tokens = args.x.n_rows();
  const auto run = n_tokens == 1   ? launch_gemv<1>
                   : n_tokens == 2 ? launch_gemv<2>
                   : n_tokens <= 4 ? launch_gemv<4>
                                   : launch_gemv<8>;
  run(stream, args);
}

}  // namespace parlance::cuda
