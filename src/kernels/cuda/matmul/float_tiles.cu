// Products of float weights in plain f32, for any address and length of rows: what the faster kernels leave.
#include "base/checked.h"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kTile = 64;  // rows, and tokens, of a block
constexpr int kSide = 16;  // threads along rows, and along tokens; values of a step
constexpr int kEach = kTile / kSide;

// Block (tile of tokens, tile of rows), kSide by kSide threads.
template <class Type>
__global__ void __launch_bounds__(kSide* kSide)
    multiply_tiles(const __grid_constant__ Products p, const float* x) {
  __shared__ float w_tile[kSide][kTile + 1], x_tile[kSide][kTile + 1];
  let_next_start();
  wait_for_previous();
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * kTile;
  const int first_token = blockIdx.x * kTile;
  const int a = threadIdx.x, b = threadIdx.y;
  float sums[kEach][kEach] = {};
  for (int first = 0; first < p.n_in; first += kSide) {
    const int k = first + a;
#pragma unroll
    for (int i = 0; i < kTile; i += kSide) {
      const int r = first_row + b + i, t = first_token + b + i;
      const bool has_weight = k < p.n_in && r < output.n_out, has_x = k < p.n_in && t < p.n_tokens;
      w_tile[a][b + i] =
          has_weight ? Type::load(output.weight + r * output.row_bytes + k * Type::kBytes) : 0.0f;
      x_tile[a][b + i] = has_x ? x[static_cast<int64_t>(t) * p.n_in + k] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
#pragma unroll
        for (int t = 0; t < kEach; ++t) {
          sums[r][t] = fmaf(w_tile[j][a + r * kSide], x_tile[j][b + t * kSide], sums[r][t]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      const int row = first_row + a + r * kSide, token = first_token + b + t * kSide;
      if (row >= output.n_out || token >= p.n_tokens) continue;
      output.out[static_cast<int64_t>(token) * output.n_out + row] =
          sums[r][t] + (output.bias ? output.bias[row] : 0.0f);
    }
  }
}

}  // namespace

void float_tiles(Stream& stream, const MatmulArgs& args, DType dtype) {
  const Products products = products_of(args, dtype, kTile);
  visit_float_type(dtype, [&](auto type) {
    launch(stream, multiply_tiles<decltype(type)>,
           {.grid = dim3(static_cast<unsigned>(div_up(products.n_tokens, kTile)),
                         static_cast<unsigned>(products.n_tiles)),
            .block = dim3(kSide, kSide)},
           products, args.x.as<const float>());
  });
}

}  // namespace parlance::cuda
