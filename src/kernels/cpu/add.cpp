// add on the CPU. The compiler turns the plain loop into the widest vectors of each instruction set.
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

using AddElements = void(float* x, const float* y, int64_t n);

PARLANCE_INLINE void add_elements(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

void add_scalar(float* x, const float* y, int64_t n) {
  add_elements(x, y, n);
}
#if PARLANCE_X86
PARLANCE_AVX2 void add_avx2(float* x, const float* y, int64_t n) {
  add_elements(x, y, n);
}
PARLANCE_AVX512 void add_avx512(float* x, const float* y, int64_t n) {
  add_elements(x, y, n);
}
#endif

template <AddElements add_range>
void run_add(Stream& stream, const AddArgs& args) {
  auto* x = args.x.as<float>();
  const auto* y = args.y.as<const float>();
  parallel_for(pool_of(stream), args.x.n_elements(), kGrainElements,
               [&](int64_t first, int64_t last) { add_range(x + first, y + first, last - first); });
}

}  // namespace

void fill_add(OpTable& table, [[maybe_unused]] Isa isa) {
  table.add = {run_add<add_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.add = {run_add<add_avx2>};
  if (is_avx512(isa)) table.add = {run_add<add_avx512>};
#endif
}

}  // namespace parlance
