// layer_norm on CUDA: one warp for each row.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;  // rows of a block

// `out` may be `x`: a lane writes only the elements that it alone reads.
__global__ void __launch_bounds__(32 * kWarps)
    normalise_rows(const float* x, const float* weight, const float* bias, float* out, int n, int64_t n_rows,
                   float eps) {
  let_next_start();
  wait_for_previous();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= n_rows) return;
  x += row * n;
  out += row * n;
  const int lane = threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int i = lane; i < n; i += 32) sum += x[i];
  const float mean = sum_of_warp(sum) / static_cast<float>(n);
  float squares = 0;
#pragma unroll 8
  for (int i = lane; i < n; i += 32) squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float scale = 1 / sqrtf(sum_of_warp(squares) / static_cast<float>(n) + eps);
#pragma unroll 8
  for (int i = lane; i < n; i += 32) out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

void run_layer_norm(Stream& stream, const LayerNormArgs& args) {
  const int64_t n = args.x.ne[0], n_rows = args.x.n_rows();
  if (n == 0 || n_rows == 0) return;
  launch(stream, normalise_rows,
         {.grid = dim3(static_cast<unsigned>((n_rows + kWarps - 1) / kWarps)), .block = dim3(32, kWarps)},
         args.x.as<const float>(), args.weight.as<const float>(), args.bias.as<const float>(),
         args.out.as<float>(), static_cast<int>(n), n_rows, args.eps);
}

}  // namespace

void fill_layer_norm(OpTable& table) {
  table.layer_norm = {run_layer_norm};
}

}  // namespace parlance::cuda
