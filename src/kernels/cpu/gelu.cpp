// gelu on the CPU.
#include <cmath>
#include <numbers>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/neon.h"

namespace parlance {

namespace {

[[maybe_unused]] constexpr float kGeluStep = 0.3f;
[[maybe_unused]] constexpr float kGeluMiddle = 0.66778524f;
[[maybe_unused]] constexpr float kGeluTerms[9] = {0.44545858558f, 0.92010031175f,  1.46113229923f,
                                                  1.76992252943f, 1.56544248777f,  0.88233914696f,
                                                  0.13905005372f, -0.20628421425f, -0.12404936830f};

void gelu_scalar(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]);
    x[i] = static_cast<float>(value * 0.5 * std::erfc(-value / std::numbers::sqrt2));
  }
}

#define PARLANCE_SIMD_FILE "kernels/cpu/gelu.simd.h"
#include "kernels/cpu/simd/per_set.h"

template <void (*gelu_range)(float* x, int64_t n)>
void run_gelu(Stream& stream, const GeluArgs& args) {
  constexpr int64_t kGrain = kGrainElements / 4;  // it takes as long as four reads and writes
  auto* x = args.x.as<float>();
  parallel_for(pool_of(stream), args.x.n_elements(), kGrain,
               [&](int64_t first, int64_t last) { gelu_range(x + first, last - first); });
}

}  // namespace

void fill_gelu(OpTable& table, [[maybe_unused]] Isa isa) {
  table.gelu = {run_gelu<gelu_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.gelu = {run_gelu<avx2::gelu_range>};
  if (is_avx512(isa)) table.gelu = {run_gelu<avx512::gelu_range>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.gelu = {run_gelu<neon::gelu_range>};
#endif
}

}  // namespace parlance
