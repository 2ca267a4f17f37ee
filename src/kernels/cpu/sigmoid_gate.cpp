// sigmoid_gate on the CPU.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/neon.h"

namespace parlance {

namespace {

using GateElements = void(float* x, const float* gate, int64_t n);

void gate_scalar(float* x, const float* gate, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] /= 1 + std::exp(-gate[i]);
}

#if PARLANCE_X86
PARLANCE_AVX2 void gate_avx2(float* x, const float* gate, int64_t n) {
  using L = simd::Avx2;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load(gate + i))));
    L::store(x + i, L::divide(L::load(x + i), divisor));
  }
  if (i < n) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load_first(gate + i, n - i))));
    L::store_first(x + i, L::divide(L::load_first(x + i, n - i), divisor), n - i);
  }
}

PARLANCE_AVX512 void gate_avx512(float* x, const float* gate, int64_t n) {
  using L = simd::Avx512;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load(gate + i))));
    L::store(x + i, L::divide(L::load(x + i), divisor));
  }
  if (i < n) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load_first(gate + i, n - i))));
    L::store_first(x + i, L::divide(L::load_first(x + i, n - i), divisor), n - i);
  }
}
#elif PARLANCE_NEON
void gate_neon(float* x, const float* gate, int64_t n) {
  using L = simd::Neon;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load(gate + i))));
    L::store(x + i, L::divide(L::load(x + i), divisor));
  }
  if (i < n) {
    const L::F divisor = L::add(one, L::exp(L::subtract(L::zero(), L::load_first(gate + i, n - i))));
    L::store_first(x + i, L::divide(L::load_first(x + i, n - i), divisor), n - i);
  }
}
#endif

template <GateElements gate_range>
void run_sigmoid_gate(Stream& stream, const SigmoidGateArgs& args) {
  auto* x = args.x.as<float>();
  const auto* gate = args.gate.as<const float>();
  parallel_for(pool_of(stream), args.x.n_elements(), kGrainElements,
               [&](int64_t first, int64_t last) { gate_range(x + first, gate + first, last - first); });
}

}  // namespace

void fill_sigmoid_gate(OpTable& table, [[maybe_unused]] Isa isa) {
  table.sigmoid_gate = {run_sigmoid_gate<gate_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.sigmoid_gate = {run_sigmoid_gate<gate_avx2>};
  if (is_avx512(isa)) table.sigmoid_gate = {run_sigmoid_gate<gate_avx512>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.sigmoid_gate = {run_sigmoid_gate<gate_neon>};
#endif
}

}  // namespace parlance
