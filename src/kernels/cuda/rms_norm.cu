// rms_norm on CUDA: one block for each row.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreadsOfMany = 256;  // of a block, when there are many

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

void run_rms_norm(Stream& stream, const RmsNormArgs& args) {
  const int64_t n = args.x.ne[0];
  const int64_t n_rows = args.x.n_rows();
  if (n == 0 || n_rows == 0) return;
  const int n_threads = std::min(row_lanes(n), n_rows > 64 ? kThreadsOfMany : kMostRowLanes);
  launch(stream, normalise_rows,
         {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(static_cast<unsigned>(n_threads))},
         args.x.as<const float>(), args.weight.as<const float>(), args.out.as<float>(), n, args.eps);
}

}  // namespace

void fill_rms_norm(OpTable& table) {
  table.rms_norm = {run_rms_norm};
}

}  // namespace parlance::cuda
