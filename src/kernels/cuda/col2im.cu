// col2im on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

// A block takes whole places, of which each has the products of two columns at most.
__global__ void add_columns(const float* columns, const float* bias, float* out, int n_channel, int stride,
                            int64_t n, int64_t n_places) {
  let_next_start();
  wait_for_previous();
  const int crop = (stride + 1) / 2;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; i < n_places;
       i += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    const bool is_bias_alone = stride % 2 != 0 && i + 1 == n_places;
    const int64_t t = (i + crop) / stride;
    const int tap = static_cast<int>((i + crop) % stride);
    const bool has_before = !is_bias_alone && t > 0, has_own = !is_bias_alone && t < n;
    const float* const before = columns + ((t - 1) * 2 * stride + tap + stride) * n_channel;
    const float* const own = columns + (t * 2 * stride + tap) * n_channel;
    for (int c = threadIdx.x; c < n_channel; c += blockDim.x) {
      float sum = bias[c];
      if (has_before) sum += before[c];
      if (has_own) sum += own[c];
      out[i * n_channel + c] = sum;
    }
  }
}

void run_col2im(Stream& stream, const Col2imArgs& args) {
  const auto n_channel = static_cast<int>(args.out.ne[0]);
  const int64_t n_places = args.out.ne[1];
  if (n_channel == 0 || n_places == 0) return;
  launch(stream, add_columns, shape_of_rows(n_channel, n_places), args.columns.as<const float>(),
         args.bias.as<const float>(), args.out.as<float>(), n_channel, static_cast<int>(args.stride),
         args.columns.ne[1], n_places);
}

}  // namespace

void fill_col2im(OpTable& table) {
  table.col2im = {run_col2im};
}

}  // namespace parlance::cuda
