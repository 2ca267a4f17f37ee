// sigmoid_gate on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

__global__ void gate_elements(float* x, const float* gate, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) { x[i] /= 1 + expf(-gate[i]); });
}

void run_sigmoid_gate(Stream& stream, const SigmoidGateArgs& args) {
  const int64_t n = args.x.n_elements();
  if (n == 0) return;
  launch(stream, gate_elements, shape_of_elements(n), args.x.as<float>(), args.gate.as<const float>(), n);
}

}  // namespace

void fill_sigmoid_gate(OpTable& table) {
  table.sigmoid_gate = {run_sigmoid_gate};
}

}  // namespace parlance::cuda
