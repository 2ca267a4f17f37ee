// Few tokens times float weights: bound by the speed at which weights arrive. Lanes load 16 bytes of each row
// of a block at a time, the next while they multiply the last, and take x as it is, in f32.
#include <algorithm>

#include "kernels/cuda/matmul/gemv_sums.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 4;  // of a block; they share the activations that a lane has loaded
constexpr int kMaxWarps = 4;
constexpr int kPieceBytes = 16;

template <class Type>
constexpr int kPieceValues = kPieceBytes / Type::kBytes;

__device__ void unpack_piece(F32, const uint4& piece, float (&w)[4]) {
  w[0] = __uint_as_float(piece.x);
  w[1] = __uint_as_float(piece.y);
  w[2] = __uint_as_float(piece.z);
  w[3] = __uint_as_float(piece.w);
}

__device__ void unpack_piece(F16, const uint4& piece, float (&w)[8]) {
  const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[2 * i] = __half2float(__ushort_as_half(static_cast<uint16_t>(words[i])));
    w[2 * i + 1] = __half2float(__ushort_as_half(static_cast<uint16_t>(words[i] >> 16)));
  }
}

__device__ void unpack_piece(Bf16, const uint4& piece, float (&w)[8]) {
  const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[2 * i] = __uint_as_float(words[i] << 16);
    w[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
  }
}

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

// Block: 32 lanes, n_warps warps. Shared memory: the sums of the warps.
template <class Type, int kTokens, int kDepth>
__global__ void __launch_bounds__(32 * kMaxWarps, 4)
    multiply_rows(const __grid_constant__ Products p, const float* x) {
  extern __shared__ float shared[];
  let_next_start();
  constexpr int kValues = kPieceValues<Type>;
  const int thread = threadIdx.y * 32 + threadIdx.x, n_threads = 32 * blockDim.y;
  const int n_pieces = p.n_in / kValues;
  const Output& output = output_of_tile(p, blockIdx.x);
  const int first_row = (static_cast<int>(blockIdx.x) - output.first_tile) * kRows;
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
      float w[kRows][kValues];
#pragma unroll
      for (int r = 0; r < kRows; ++r) unpack_piece(Type{}, loaded.w[d][r], w[r]);
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        const int token = min(t, p.n_tokens - 1);
        const auto* values =
            reinterpret_cast<const float4*>(x + static_cast<int64_t>(token) * p.n_in + at * kValues);
#pragma unroll
        for (int i = 0; i < kValues; i += 4) {
          const float4 v = values[i / 4];
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            float& sum = sums[t * kRows + r];
            sum = fmaf(w[r][i], v.x, sum);
            sum = fmaf(w[r][i + 1], v.y, sum);
            sum = fmaf(w[r][i + 2], v.z, sum);
            sum = fmaf(w[r][i + 3], v.w, sum);
          }
        }
      }
    }
  }
  store_sums<kRows, kTokens>(sums, shared, output, first_row, p.n_tokens);
}

template <class Type, int kTokens>
void launch_gemv(Stream& stream, const MatmulArgs& args, DType dtype) {
  constexpr int kDepth = kTokens <= 2 ? 2 : 1;  // where sums leave registers for more
  const Products products = products_of(args, dtype, kRows);
  const int n_warps = std::clamp((products.n_in / kPieceValues<Type> + 31) / 32, 1, kMaxWarps);
  launch(stream, multiply_rows<Type, kTokens, kDepth>,
         {.grid = dim3(static_cast<unsigned>(products.n_tiles)),
          .block = dim3(32, static_cast<unsigned>(n_warps)),
          .shared_bytes = sizeof(float) * static_cast<size_t>(n_warps * kRows * kTokens)},
         products, args.x.as<const float>());
}

}  // namespace

void float_gemv(Stream& stream, const MatmulArgs& args, DType dtype) {
  const int64_t n_tokens = args.x.n_rows();
  visit_float_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const auto run = n_tokens == 1   ? launch_gemv<Type, 1>
                     : n_tokens == 2 ? launch_gemv<Type, 2>
                     : n_tokens <= 4 ? launch_gemv<Type, 4>
                                     : launch_gemv<Type, 8>;
    run(stream, args, dtype);
  });
}

}  // namespace parlance::cuda
