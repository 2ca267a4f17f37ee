// snake on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

constexpr float kSnakeFloor = 1e-9f;

// A block takes whole places, so that no thread divides to find its channel.
__global__ void snake_places(float* x, const float* alpha, int n_channel, int64_t n_places) {
  let_next_start();
  wait_for_previous();
  for (int64_t place = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; place < n_places;
       place += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    float* const row = x + place * n_channel;
    for (int c = threadIdx.x; c < n_channel; c += blockDim.x) {
      const float a = alpha[c], sine = sinf(__fmul_rn(a, row[c]));
      row[c] += sine * sine / (a + kSnakeFloor);
    }
  }
}

void run_snake(Stream& stream, const SnakeArgs& args) {
  const auto n_channel = static_cast<int>(args.x.ne[0]);
  const int64_t n_places = args.x.n_rows();
  if (n_channel == 0 || n_places == 0) return;
  launch(stream, snake_places, shape_of_rows(n_channel, n_places), args.x.as<float>(),
         args.alpha.as<const float>(), n_channel, n_places);
}

}  // namespace

void fill_snake(OpTable& table) {
  table.snake = {run_snake};
}

}  // namespace parlance::cuda
