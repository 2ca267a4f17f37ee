// gated_rms_norm on CUDA: a warp for each row, which is a head of a recurrent layer.
#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;  // rows of a block

// `out` may be `x`: a lane writes only the elements that it alone reads.
__global__ void normalise_and_gate(const float* x, const float* weight, const float* gate, float* out,
                                   int64_t n, int64_t n_rows, float eps) {
  let_next_start();
  wait_for_previous();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= n_rows) return;
  const int lane = threadIdx.x % 32;
  float sum = 0;
  for (int64_t i = row * n + lane; i < (row + 1) * n; i += 32) sum = fmaf(x[i], x[i], sum);
  const float scale = 1 / sqrtf(sum_of_warp(sum) / static_cast<float>(n) + eps);
  for (int64_t i = lane; i < n; i += 32) {
    out[row * n + i] = x[row * n + i] * scale * weight[i] * silu(gate[row * n + i]);
  }
}

void run_gated_rms_norm(Stream& stream, const GatedRmsNormArgs& args) {
  const int64_t n_rows = args.x.n_rows();
  if (args.x.n_elements() == 0) return;
  launch(stream, normalise_and_gate,
         {.grid = dim3(static_cast<unsigned>(div_up<int64_t>(n_rows, kWarps))), .block = dim3(kWarps * 32)},
         args.x.as<const float>(), args.weight.as<const float>(), args.gate.as<const float>(),
         args.out.as<float>(), args.x.ne[0], n_rows, args.eps);
}

}  // namespace

void fill_gated_rms_norm(OpTable& table) {
  table.gated_rms_norm = {run_gated_rms_norm};
}

}  // namespace parlance::cuda
