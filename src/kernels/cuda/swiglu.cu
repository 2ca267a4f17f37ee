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

// The same, four at a time: for so many that memory is what they wait for.
constexpr int64_t kMany = 1 << 16;
__global__ void swiglu_pieces(const float4* gate, const float4* up, float4* out, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) {
    const float4 g = gate[i], u = up[i];
    out[i] = make_float4(silu(g.x) * u.x, silu(g.y) * u.y, silu(g.z) * u.z, silu(g.w) * u.w);
  });
}

bool has_pieces(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % sizeof(float4) == 0;
}

void run_swiglu(Stream& stream, const SwigluArgs& args) {
  const int64_t n = args.out.n_elements();
  if (n == 0) return;
  if (n >= kMany && n % 4 == 0 && has_pieces(args.gate) && has_pieces(args.up) && has_pieces(args.out)) {
    launch(stream, swiglu_pieces, shape_of_elements(n / 4), args.gate.as<const float4>(),
           args.up.as<const float4>(), args.out.as<float4>(), n / 4);
    return;
  }
  launch(stream, swiglu_elements, shape_of_elements(n), args.gate.as<const float>(),
         args.up.as<const float>(), args.out.as<float>(), n);
}

}  // namespace

void fill_swiglu(OpTable& table) {
  table.swiglu = {run_swiglu};
}

}  // namespace parlance::cuda
