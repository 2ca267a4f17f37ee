// elu on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

__global__ void elu_elements(float* x, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) {
    if (x[i] < 0) x[i] = expm1f(x[i]);
  });
}

void run_elu(Stream& stream, const EluArgs& args) {
  const int64_t n = args.x.n_elements();
  if (n == 0) return;
  launch(stream, elu_elements, shape_of_elements(n), args.x.as<float>(), n);
}

}  // namespace

void fill_elu(OpTable& table) {
  table.elu = {run_elu};
}

}  // namespace parlance::cuda
