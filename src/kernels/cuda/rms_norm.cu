// rms_norm on CUDA: one block for each row.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreadsOfMany = 256;  // of a block, when there are many
constexpr int64_t kFewRows = 64;

// `out` may be `x`: a thread writes only the elements that it alone reads.
__global__ void normalise_rows(const float* x, const float* weight, float* out, int64_t n, float eps) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  wait_for_previous();
  x += blockIdx.x * n;
  out += blockIdx.x * n;
  const float sum = sum_of_squares(
      n, partial, [&](int64_t i) { return x[i]; }, [](int64_t, float) {});
  const float scale = 1 / sqrtf(sum / static_cast<float>(n) + eps);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = x[i] * scale * weight[i];
}

// For few rows, of up to kKept elements for each lane of row_lanes(n): what waits for memory waits once. The
// sum is that of sum_of_squares().
constexpr int kKept = 4;
__global__ void normalise_few(const float* x, const float* weight, float* out, int n, float eps) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  const int n_lanes = blockDim.x, lane = threadIdx.x;
  float weights[kKept], values[kKept];
#pragma unroll
  for (int j = 0; j < kKept; ++j) weights[j] = lane + j * n_lanes < n ? weight[lane + j * n_lanes] : 0;
  wait_for_previous();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * n + lane;
#pragma unroll
  for (int j = 0; j < kKept; ++j) values[j] = lane + j * n_lanes < n ? x[first + j * n_lanes] : 0;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kKept; ++j) sum = fmaf(values[j], values[j], sum);
  sum = sum_of_warp(sum);
  if (lane % 32 == 0) partial[lane / 32] = sum;
  __syncthreads();
  sum = sum_of_warp(lane % 32 < n_lanes / 32 ? partial[lane % 32] : 0.0f);
  const float scale = 1 / sqrtf(sum / static_cast<float>(n) + eps);
#pragma unroll
  for (int j = 0; j < kKept; ++j) {
    if (lane + j * n_lanes < n) out[first + j * n_lanes] = values[j] * scale * weights[j];
  }
}

void run_rms_norm(Stream& stream, const RmsNormArgs& args) {
  const int64_t n = args.x.ne[0];
  const int64_t n_rows = args.x.n_rows();
  if (n == 0 || n_rows == 0) return;
  if (n_rows <= kFewRows && n <= kKept * row_lanes(n)) {
    launch(stream, normalise_few,
           {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(static_cast<unsigned>(row_lanes(n)))},
           args.x.as<const float>(), args.weight.as<const float>(), args.out.as<float>(), static_cast<int>(n),
           args.eps);
    return;
  }
  const int n_threads = std::min(row_lanes(n), n_rows > kFewRows ? kThreadsOfMany : kMostRowLanes);
  launch(stream, normalise_rows,
         {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(static_cast<unsigned>(n_threads))},
         args.x.as<const float>(), args.weight.as<const float>(), args.out.as<float>(), n, args.eps);
}

}  // namespace

void fill_rms_norm(OpTable& table) {
  table.rms_norm = {run_rms_norm};
}

}  // namespace parlance::cuda
