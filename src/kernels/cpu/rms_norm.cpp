// rms_norm on the CPU.
#include <cmath>
#include <cstring>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

void normalise_row_scalar(const float* x, const float* weight, float* out, int64_t n, float eps) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto scale =
      static_cast<float>(1 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

// For every instruction set: 32 sums side by side, so that none runs over more than a fraction of the row.
PARLANCE_INLINE void normalise_row(const float* x, const float* weight, float* out, int64_t n, float eps) {
  typedef float Lanes __attribute__((vector_size(64)));
  constexpr int64_t kLanes = 16;
  Lanes sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    Lanes a, b;
    std::memcpy(&a, x + i, sizeof a);
    std::memcpy(&b, x + i + kLanes, sizeof b);
    sums[0] += a * a;
    sums[1] += b * b;
  }
  float lanes[kLanes];
  const Lanes both = sums[0] + sums[1];
  std::memcpy(lanes, &both, sizeof lanes);
  for (; i < n; ++i) lanes[i % kLanes] += x[i] * x[i];
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  const auto scale =
      static_cast<float>(1 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(eps)));
  for (i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

#if PARLANCE_X86
PARLANCE_AVX2 void normalise_row_avx2(const float* x, const float* weight, float* out, int64_t n, float eps) {
  normalise_row(x, weight, out, n, eps);
}
PARLANCE_AVX512 void normalise_row_avx512(const float* x, const float* weight, float* out, int64_t n,
                                          float eps) {
  normalise_row(x, weight, out, n, eps);
}
#elif PARLANCE_NEON
void normalise_row_neon(const float* x, const float* weight, float* out, int64_t n, float eps) {
  normalise_row(x, weight, out, n, eps);
}
#endif

template <NormaliseRow normalise>
void run_rms_norm(Stream& stream, const RmsNormArgs& args) {
  const int64_t n = args.x.ne[0];
  const auto* x = args.x.as<const float>();
  const auto* weight = args.weight.as<const float>();
  auto* out = args.out.as<float>();
  parallel_rows(pool_of(stream), args.x.n_rows(), n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) normalise(x + row * n, weight, out + row * n, n, args.eps);
  });
}

}  // namespace

NormaliseRow* normalise_row_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return normalise_row_avx2;
  if (is_avx512(isa)) return normalise_row_avx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return normalise_row_neon;
#endif
  return normalise_row_scalar;
}

void fill_rms_norm(OpTable& table, Isa isa) {
  table.rms_norm = {run_rms_norm<normalise_row_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.rms_norm = {run_rms_norm<normalise_row_avx2>};
  if (is_avx512(isa)) table.rms_norm = {run_rms_norm<normalise_row_avx512>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.rms_norm = {run_rms_norm<normalise_row_neon>};
#endif
}

}  // namespace parlance
