// gated_rms_norm on the CPU: what rms_norm and swiglu do to one row after the other.
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

template <Isa isa>
void run_gated_rms_norm(Stream& stream, const GatedRmsNormArgs& args) {
  NormaliseRow* const normalise = normalise_row_of(isa);
  SwigluElements* const swiglu = swiglu_of(isa);
  const int64_t n = args.x.ne[0];
  parallel_rows(pool_of(stream), args.x.n_rows(), 2 * n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      float* out = args.out.as<float>() + row * n;
      normalise(args.x.as<const float>() + row * n, args.weight.as<const float>(), out, n, args.eps);
      swiglu(args.gate.as<const float>() + row * n, out, out, n);
    }
  });
}

}  // namespace

void fill_gated_rms_norm(OpTable& table, Isa isa) {
  table.gated_rms_norm = {run_gated_rms_norm<Isa::scalar>};
  if (isa == Isa::avx2) table.gated_rms_norm = {run_gated_rms_norm<Isa::avx2>};
  if (is_avx512(isa)) table.gated_rms_norm = {run_gated_rms_norm<Isa::avx512>};
  if (is_neon(isa)) table.gated_rms_norm = {run_gated_rms_norm<Isa::neon>};
}

}  // namespace parlance
