// swiglu on the CPU.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

using SwigluElements = void(const float* gate, const float* up, float* out, int64_t n);

void swiglu_scalar(const float* gate, const float* up, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

template <SwigluElements swiglu_range>
void run_swiglu(Stream& stream, const SwigluArgs& args) {
  const auto* gate = args.gate.as<const float>();
  const auto* up = args.up.as<const float>();
  auto* out = args.out.as<float>();
  parallel_for(pool_of(stream), args.out.n_elements(), kGrainElements, [&](int64_t first, int64_t last) {
    swiglu_range(gate + first, up + first, out + first, last - first);
  });
}

}  // namespace

void fill_swiglu(OpTable& table, [[maybe_unused]] Isa isa) {
  table.swiglu = {run_swiglu<swiglu_scalar>};
}

}  // namespace parlance
