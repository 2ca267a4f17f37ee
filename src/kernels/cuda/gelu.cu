// gelu on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

// x times the normal distribution's share below x, which normcdff() keeps relatively exact in the far tail,
// too.
__global__ void gelu_elements(float* x, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) { x[i] *= normcdff(x[i]); });
}

void run_gelu(Stream& stream, const GeluArgs& args) {
  const int64_t n = args.x.n_elements();
  if (n == 0) return;
  launch(stream, gelu_elements, shape_of_elements(n), args.x.as<float>(), n);
}

}  // namespace

void fill_gelu(OpTable& table) {
  table.gelu = {run_gelu};
}

}  // namespace parlance::cuda
