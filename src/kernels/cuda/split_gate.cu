// split_gate on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

// n elements of q and of the gate, in heads of head_dim.
__global__ void split_heads(const float* x, float* q, float* gate, int64_t head_dim, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) {
    const float* head = x + i / head_dim * 2 * head_dim;
    q[i] = head[i % head_dim];
    gate[i] = head[head_dim + i % head_dim];
  });
}

void run_split_gate(Stream& stream, const SplitGateArgs& args) {
  const int64_t n = args.q.n_elements();
  if (n == 0) return;
  launch(stream, split_heads, shape_of_elements(n), args.x.as<const float>(), args.q.as<float>(),
         args.gate.as<float>(), args.q.ne[0], n);
}

}  // namespace

void fill_split_gate(OpTable& table) {
  table.split_gate = {run_split_gate};
}

}  // namespace parlance::cuda
