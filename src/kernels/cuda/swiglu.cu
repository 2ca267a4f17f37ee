// swiglu on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

// `out` may be `gate`: a thread reads its element before it writes it.
__global__ void swiglu_elements(const float* gate, const float* up, float* out, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) { out[i] = silu(gate[i]) * up[i]; });
}

void run_swiglu(Stream& stream, const SwigluArgs& args) {
  const int64_t n = args.out.n_elements();
  if (n == 0) return;
  launch(stream, swiglu_elements, shape_of_elements(n), args.gate.as<const float>(),
         args.up.as<const float>(), args.out.as<float>(), n);
}

}  // namespace

void fill_swiglu(OpTable& table) {
  table.swiglu = {run_swiglu};
}

}  // namespace parlance::cuda
