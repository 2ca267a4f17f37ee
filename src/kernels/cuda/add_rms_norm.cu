// add_rms_norm on CUDA: one block for each row.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreadsOfMany = 256;  // of a block, when there are many

__global__ void add_and_normalise(float* h, const float* y, const float* weight, float* out, int64_t n,
                                  float eps) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  wait_for_previous();
  h += blockIdx.x * n;
  y += blockIdx.x * n;
  out += blockIdx.x * n;
  const float sum = sum_of_squares(
      n, partial, [&](int64_t i) { return h[i] + y[i]; }, [&](int64_t i, float value) { h[i] = value; });
  const float scale = 1 / sqrtf(sum / static_cast<float>(n) + eps);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = h[i] * scale * weight[i];
}

// For few rows, of up to kKept elements for each lane of row_lanes(n): what waits for memory waits once. The
// sum is that of sum_of_squares().
constexpr int kKept = 4;
__global__ void add_and_normalise_few(float* h, const float* y, const float* weight, float* out, int n,
                                      float eps) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  const int n_lanes = blockDim.x, lane = threadIdx.x;
  float weights[kKept], values[kKept];
#pragma unroll
  for (int j = 0; j < kKept; ++j) weights[j] = lane + j * n_lanes < n ? weight[lane + j * n_lanes] : 0;
  wait_for_previous();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * n + lane;
#pragma unroll
  for (int j = 0; j < kKept; ++j) {
    const int64_t at = first + j * n_lanes;
    values[j] = lane + j * n_lanes < n ? h[at] + y[at] : 0;
  }
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
    if (lane + j * n_lanes >= n) break;
    h[first + j * n_lanes] = values[j];
    out[first + j * n_lanes] = values[j] * scale * weights[j];
  }
}

// For many rows of n elements, a multiple of kMostRowLanes and no more than kHeld times so many: a thread has
// four lanes, loads and stores their elements at once and keeps them. The sum is that of sum_of_squares().
constexpr int kHeld = 8, kLanesOfThread = 4;
constexpr int kThreads = kMostRowLanes / kLanesOfThread;
__global__ void __launch_bounds__(kThreads)
    add_and_normalise_many(float4* h, const float4* y, const float4* weight, float4* out, int n, float eps) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  wait_for_previous();
  const int n_rounds = n / kMostRowLanes, thread = threadIdx.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (n / kLanesOfThread) + thread;
  float4 values[kHeld];
  float sums[kLanesOfThread] = {};
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    if (j >= n_rounds) break;
    const float4 a = h[first + j * kThreads], b = y[first + j * kThreads];
    values[j] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    if (j >= n_rounds) break;
    const float4& v = values[j];
    h[first + j * kThreads] = v;
    sums[0] = fmaf(v.x, v.x, sums[0]);
    sums[1] = fmaf(v.y, v.y, sums[1]);
    sums[2] = fmaf(v.z, v.z, sums[2]);
    sums[3] = fmaf(v.w, v.w, sums[3]);
  }
  // sum_of_warp() of 32 lanes, which eight threads have: lanes that are 16, 8 and 4 apart, then 2 and 1.
#pragma unroll
  for (int mask = 16; mask >= kLanesOfThread; mask /= 2) {
#pragma unroll
    for (float& sum : sums) sum += __shfl_xor_sync(kAllLanes, sum, mask / kLanesOfThread);
  }
  const float of_lanes = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  if (thread % 8 == 0) partial[thread / 8] = of_lanes;
  __syncthreads();
  const float sum = sum_of_warp(partial[thread % 32]);
  const float scale = 1 / sqrtf(sum / static_cast<float>(n) + eps);
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    if (j >= n_rounds) break;
    const float4 w = weight[thread + j * kThreads];
    const float4& v = values[j];
    out[first + j * kThreads] =
        make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
  }
}

bool has_pieces(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % sizeof(float4) == 0;
}

bool serves_many(const AddRmsNormArgs& args) {
  const int64_t n = args.h.ne[0];
  return n % kMostRowLanes == 0 && n <= kHeld * kMostRowLanes && has_pieces(args.h) && has_pieces(args.y) &&
         has_pieces(args.weight) && has_pieces(args.out);
}

void run_add_rms_norm(Stream& stream, const AddRmsNormArgs& args) {
  const int64_t n = args.h.ne[0];
  const int64_t n_rows = args.h.n_rows();
  if (n == 0 || n_rows == 0) return;
  constexpr int64_t kFewRows = 64;
  if (n_rows <= kFewRows && n <= kKept * row_lanes(n)) {
    launch(stream, add_and_normalise_few,
           {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(static_cast<unsigned>(row_lanes(n)))},
           args.h.as<float>(), args.y.as<const float>(), args.weight.as<const float>(), args.out.as<float>(),
           static_cast<int>(n), args.eps);
    return;
  }
  if (n_rows > kFewRows && serves_many(args)) {
    launch(stream, add_and_normalise_many,
           {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(kThreads)}, args.h.as<float4>(),
           args.y.as<const float4>(), args.weight.as<const float4>(), args.out.as<float4>(),
           static_cast<int>(n), args.eps);
    return;
  }
  const int n_threads = std::min(row_lanes(n), n_rows > kFewRows ? kThreadsOfMany : kMostRowLanes);
  launch(stream, add_and_normalise,
         {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(static_cast<unsigned>(n_threads))},
         args.h.as<float>(), args.y.as<const float>(), args.weight.as<const float>(), args.out.as<float>(), n,
         args.eps);
}

}  // namespace

void fill_add_rms_norm(OpTable& table) {
  table.add_rms_norm = {run_add_rms_norm};
}

}  // namespace parlance::cuda
