// add_rms_norm on the CPU: a row is still in the cache when it is normalised.
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

template <Isa isa>
void run_add_rms_norm(Stream& stream, const AddRmsNormArgs& args) {
  NormaliseRow* const normalise = normalise_row_of(isa);
  const int64_t n = args.h.ne[0];
  parallel_rows(pool_of(stream), args.h.n_rows(), 2 * n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      float* h = args.h.as<float>() + row * n;
      const float* y = args.y.as<const float>() + row * n;
      for (int64_t i = 0; i < n; ++i) h[i] += y[i];
      normalise(h, args.weight.as<const float>(), args.out.as<float>() + row * n, n, args.eps);
    }
  });
}

}  // namespace

void fill_add_rms_norm(OpTable& table, Isa isa) {
  table.add_rms_norm = {run_add_rms_norm<Isa::scalar>};
  if (isa == Isa::avx2) table.add_rms_norm = {run_add_rms_norm<Isa::avx2>};
  if (is_avx512(isa)) table.add_rms_norm = {run_add_rms_norm<Isa::avx512>};
  if (is_neon(isa)) table.add_rms_norm = {run_add_rms_norm<Isa::neon>};
}

}  // namespace parlance
