// argmax on the CPU. Compilers make vectors of the many maxima; where the largest lies is looked for
// afterwards.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sum_of_powers.h"

namespace parlance {

namespace {

using LargestOf = int32_t(const float* x, int64_t n);
using NextOf = int32_t(const float* x, int64_t n, int32_t before);  // behind that one; -1: there is none

int32_t largest_scalar(const float* x, int64_t n) {
  int64_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return -1;
    if (x[i] > x[largest]) largest = i;
  }
  return static_cast<int32_t>(largest);
}

int32_t next_scalar(const float* x, int64_t n, int32_t before) {
  int64_t next = -1;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_behind = x[i] < x[before] || (x[i] == x[before] && i > before);
    if (is_behind && (next < 0 || x[i] > x[next])) next = i;
  }
  return static_cast<int32_t>(next);
}

#if PARLANCE_X86
PARLANCE_INLINE int32_t largest_by_lanes(const float* x, int64_t n) {
  constexpr int64_t kLanes = 64;
  constexpr uint32_t kAllOnes = 0x7f800000;  // the exponent of what is not finite
  float most[kLanes];
  uint32_t bad[kLanes] = {};
  std::fill_n(most, kLanes, -INFINITY);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
      bad[lane] |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x[i + lane]) & kAllOnes) == kAllOnes);
    }
  }
  float largest = *std::max_element(most, most + kLanes);
  bool is_bad = std::any_of(bad, bad + kLanes, [](uint32_t of_lane) { return of_lane != 0; });
  for (; i < n; ++i) {
    largest = std::max(largest, x[i]);
    is_bad |= !std::isfinite(x[i]);
  }
  return is_bad ? -1 : static_cast<int32_t>(std::find(x, x + n, largest) - x);
}

PARLANCE_INLINE int32_t next_by_lanes(const float* x, int64_t n, int32_t before) {
  constexpr int64_t kLanes = 64;
  const float least = x[before];
  const float* const equal = std::find(x + before + 1, x + n, least);
  if (equal != x + n) return static_cast<int32_t>(equal - x);
  float most[kLanes];
  std::fill_n(most, kLanes, -INFINITY);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = x[i + lane] < least ? x[i + lane] : -INFINITY;
      most[lane] = value > most[lane] ? value : most[lane];
    }
  }
  float next = *std::max_element(most, most + kLanes);
  for (; i < n; ++i) next = x[i] < least ? std::max(next, x[i]) : next;
  return next == -INFINITY ? -1 : static_cast<int32_t>(std::find(x, x + n, next) - x);
}

PARLANCE_AVX2 int32_t next_avx2(const float* x, int64_t n, int32_t before) {
  return next_by_lanes(x, n, before);
}
PARLANCE_AVX512 int32_t next_avx512(const float* x, int64_t n, int32_t before) {
  return next_by_lanes(x, n, before);
}

PARLANCE_AVX2 int32_t largest_avx2(const float* x, int64_t n) {
  return largest_by_lanes(x, n);
}
PARLANCE_AVX512 int32_t largest_avx512(const float* x, int64_t n) {
  return largest_by_lanes(x, n);
}
#endif

// What `told` has of the rank before: its index, and its share.
template <NextOf next_of>
void tell_next(const float* x, int64_t n, const int32_t* told, int32_t* out) {
  const int32_t next = told[0] < 0 ? -1 : next_of(x, n, told[0]);
  const float share = next < 0 ? 0 : std::bit_cast<float>(told[1]) * std::exp(x[next] - x[told[0]]);
  out[0] = next;
  out[1] = std::bit_cast<int32_t>(share);
}

template <LargestOf largest_of, NextOf next_of, SumOfPowers sum_of_powers>
void run_argmax(Stream& stream, const ArgmaxArgs& args) {
  const int64_t n = args.x.ne[0], n_told = args.out.ne[0];
  const auto* x = args.x.as<const float>();
  auto* out = args.out.as<int32_t>();
  parallel_rows(pool_of(stream), args.x.n_rows(), n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float* values = x + row * n;
      int32_t* told = out + row * n_told;
      if (args.rank > 0) {
        tell_next<next_of>(values, n, told + 2 * (args.rank - 1), told + 2 * args.rank);
        continue;
      }
      const int32_t largest = largest_of(values, n);
      told[0] = largest;
      if (n_told < 2) continue;
      const float share = largest < 0 ? 0 : 1 / sum_of_powers(values, n, values[largest]);
      told[1] = std::bit_cast<int32_t>(share);
    }
  });
}

}  // namespace

void fill_argmax(OpTable& table, [[maybe_unused]] Isa isa) {
  table.argmax = {run_argmax<largest_scalar, next_scalar, sum_of_powers_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.argmax = {run_argmax<largest_avx2, next_avx2, sum_of_powers_avx2>};
  if (is_avx512(isa)) table.argmax = {run_argmax<largest_avx512, next_avx512, sum_of_powers_avx512>};
#endif
}

}  // namespace parlance
