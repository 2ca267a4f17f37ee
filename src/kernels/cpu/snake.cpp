// snake on the CPU.
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

constexpr float kSnakeFloor = 1e-9f;
[[maybe_unused]] constexpr float kPiHigh = 3.140625f;
[[maybe_unused]] constexpr float kPiMiddle = 0.0009675025939941406f;
[[maybe_unused]] constexpr float kPiLow = 1.5099580252808664e-07f;
[[maybe_unused]] constexpr float kSineTerms[5] = {0.9999999956988088f, -0.1666665794784582f,
                                                  0.00833305017066818f, -0.00019809017408449952f,
                                                  2.6051076348701538e-06f};

void snake_row_scalar(float* x, const float* alpha, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double sine = std::sin(static_cast<double>(alpha[i] * x[i]));
    x[i] += static_cast<float>(sine * sine) / (alpha[i] + kSnakeFloor);
  }
}

#define PARLANCE_SIMD_FILE "kernels/cpu/snake.simd.h"
#include "kernels/cpu/simd/per_set.h"

template <void (*snake_row)(float* x, const float* alpha, int64_t n)>
void run_snake(Stream& stream, const SnakeArgs& args) {
  const int64_t n_channel = args.x.ne[0];
  auto* x = args.x.as<float>();
  const auto* alpha = args.alpha.as<const float>();
  parallel_rows(pool_of(stream), args.x.n_rows(), 4 * n_channel, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) snake_row(x + row * n_channel, alpha, n_channel);
  });
}

}  // namespace

void fill_snake(OpTable& table, [[maybe_unused]] Isa isa) {
  table.snake = {run_snake<snake_row_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.snake = {run_snake<avx2::snake_row>};
  if (is_avx512(isa)) table.snake = {run_snake<avx512::snake_row>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.snake = {run_snake<neon::snake_row>};
#endif
}

}  // namespace parlance
