// swiglu on the CPU.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/neon.h"

namespace parlance {

namespace {

void swiglu_scalar(const float* gate, const float* up, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

#if PARLANCE_X86
PARLANCE_AVX2 void swiglu_avx2(const float* gate, const float* up, float* out, int64_t n) {
  using L = simd::Avx2;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F g = L::load(gate + i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store(out + i, L::multiply(silu, L::load(up + i)));
  }
  if (i < n) {
    const L::F g = L::load_first(gate + i, n - i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store_first(out + i, L::multiply(silu, L::load_first(up + i, n - i)), n - i);
  }
}

PARLANCE_AVX512 void swiglu_avx512(const float* gate, const float* up, float* out, int64_t n) {
  using L = simd::Avx512;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F g = L::load(gate + i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store(out + i, L::multiply(silu, L::load(up + i)));
  }
  if (i < n) {
    const L::F g = L::load_first(gate + i, n - i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store_first(out + i, L::multiply(silu, L::load_first(up + i, n - i)), n - i);
  }
}
#elif PARLANCE_NEON
void swiglu_neon(const float* gate, const float* up, float* out, int64_t n) {
  using L = simd::Neon;
  const L::F one = L::broadcast(1);
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) {
    const L::F g = L::load(gate + i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store(out + i, L::multiply(silu, L::load(up + i)));
  }
  if (i < n) {
    const L::F g = L::load_first(gate + i, n - i);
    const L::F silu = L::divide(g, L::add(one, L::exp(L::subtract(L::zero(), g))));
    L::store_first(out + i, L::multiply(silu, L::load_first(up + i, n - i)), n - i);
  }
}
#endif

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

SwigluElements* swiglu_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return swiglu_avx2;
  if (is_avx512(isa)) return swiglu_avx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return swiglu_neon;
#endif
  return swiglu_scalar;
}

void fill_swiglu(OpTable& table, [[maybe_unused]] Isa isa) {
  table.swiglu = {run_swiglu<swiglu_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.swiglu = {run_swiglu<swiglu_avx2>};
  if (is_avx512(isa)) table.swiglu = {run_swiglu<swiglu_avx512>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.swiglu = {run_swiglu<swiglu_neon>};
#endif
}

}  // namespace parlance
