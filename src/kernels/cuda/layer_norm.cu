// layer_norm on CUDA: one block for each row, whose threads keep what they have read of it.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = 128;
constexpr int kKept = 8;  // elements of a thread; it reads others again

// By the whole block, whose threads come back to `partial` when they have all passed another barrier.
__device__ float sum_of_block(float value, float (&partial)[kThreads / 32]) {
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += partial[warp];
  return sum;
}

// `out` may be `x`: a thread writes only the elements that it alone reads.
__global__ void __launch_bounds__(kThreads)
    normalise_rows(const float* x, const float* weight, const float* bias, float* out, int n, float eps) {
  __shared__ float partial[2][kThreads / 32];
  let_next_start();
  wait_for_previous();
  x += static_cast<int64_t>(blockIdx.x) * n;
  out += static_cast<int64_t>(blockIdx.x) * n;
  float kept[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int at = threadIdx.x + i * kThreads;
    kept[i] = at < n ? x[at] : 0.0f;
  }
  const auto for_each = [&](const auto& visit) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const int at = threadIdx.x + i * kThreads;
      if (at < n) visit(at, kept[i]);
    }
    for (int at = threadIdx.x + kKept * kThreads; at < n; at += kThreads) visit(at, x[at]);
  };
  float sum = 0, squares = 0;
  for_each([&](int, float value) { sum += value; });
  const float mean = sum_of_block(sum, partial[0]) / static_cast<float>(n);
  for_each([&](int, float value) { squares = fmaf(value - mean, value - mean, squares); });
  const float scale = 1 / sqrtf(sum_of_block(squares, partial[1]) / static_cast<float>(n) + eps);
  for_each([&](int at, float value) { out[at] = (value - mean) * scale * weight[at] + bias[at]; });
}

void run_layer_norm(Stream& stream, const LayerNormArgs& args) {
  const int64_t n = args.x.ne[0], n_rows = args.x.n_rows();
  if (n == 0 || n_rows == 0) return;
  launch(stream, normalise_rows, {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(kThreads)},
         args.x.as<const float>(), args.weight.as<const float>(), args.bias.as<const float>(),
         args.out.as<float>(), static_cast<int>(n), args.eps);
}

}  // namespace

void fill_layer_norm(OpTable& table) {
  table.layer_norm = {run_layer_norm};
}

}  // namespace parlance::cuda
