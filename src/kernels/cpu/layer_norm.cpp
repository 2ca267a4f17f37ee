// layer_norm on the CPU.
#include <cmath>
#include <cstring>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

using LayerNormRow = void(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                          float eps);

float inverse_deviation(double sum_of_squares, int64_t n, float eps) {
  return static_cast<float>(1 /
                            std::sqrt(sum_of_squares / static_cast<double>(n) + static_cast<double>(eps)));
}

void normalise_scalar(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                      float eps) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  const float scale = inverse_deviation(squares, n, eps);
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - static_cast<float>(mean)) * scale * weight[i] + bias[i];
}

typedef float Lanes __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16;

PARLANCE_INLINE double sum_lanes(const Lanes& lanes) {
  float values[kLanes];
  std::memcpy(values, &lanes, sizeof lanes);
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

// For every instruction set: 16 sums side by side, so that none runs over more than a fraction of the row.
PARLANCE_INLINE void normalise(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                               float eps) {
  const int64_t n_whole = n - n % kLanes;
  Lanes sums = {};
  for (int64_t i = 0; i < n_whole; i += kLanes) {
    Lanes a;
    std::memcpy(&a, x + i, sizeof a);
    sums += a;
  }
  double sum = sum_lanes(sums);
  for (int64_t i = n_whole; i < n; ++i) sum += static_cast<double>(x[i]);
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
  Lanes squared = {};
  for (int64_t i = 0; i < n_whole; i += kLanes) {
    Lanes a;
    std::memcpy(&a, x + i, sizeof a);
    a -= mean;
    squared += a * a;
  }
  double squares = sum_lanes(squared);
  for (int64_t i = n_whole; i < n; ++i) squares += static_cast<double>((x[i] - mean) * (x[i] - mean));
  const float scale = inverse_deviation(squares, n, eps);
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

#if PARLANCE_X86
PARLANCE_AVX2 void normalise_avx2(const float* x, const float* weight, const float* bias, float* out,
                                  int64_t n, float eps) {
  normalise(x, weight, bias, out, n, eps);
}
PARLANCE_AVX512 void normalise_avx512(const float* x, const float* weight, const float* bias, float* out,
                                      int64_t n, float eps) {
  normalise(x, weight, bias, out, n, eps);
}
#elif PARLANCE_NEON
void normalise_neon(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                    float eps) {
  normalise(x, weight, bias, out, n, eps);
}
#endif

template <LayerNormRow normalise_row>
void run_layer_norm(Stream& stream, const LayerNormArgs& args) {
  const int64_t n = args.x.ne[0];
  const auto* x = args.x.as<const float>();
  const auto* weight = args.weight.as<const float>();
  const auto* bias = args.bias.as<const float>();
  auto* out = args.out.as<float>();
  parallel_rows(pool_of(stream), args.x.n_rows(), n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      normalise_row(x + row * n, weight, bias, out + row * n, n, args.eps);
    }
  });
}

}  // namespace

void fill_layer_norm(OpTable& table, [[maybe_unused]] Isa isa) {
  table.layer_norm = {run_layer_norm<normalise_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.layer_norm = {run_layer_norm<normalise_avx2>};
  if (is_avx512(isa)) table.layer_norm = {run_layer_norm<normalise_avx512>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.layer_norm = {run_layer_norm<normalise_neon>};
#endif
}

}  // namespace parlance
