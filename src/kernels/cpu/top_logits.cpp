// top_logits on the CPU: most blocks of a row have nothing above the lowest that is kept of those before.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sum_of_powers.h"

namespace parlance {

namespace {

struct TopLogit {
  float logit;
  int32_t index;
};

bool is_told_before(const TopLogit& a, const TopLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.index < b.index;
}

using AllFinite = bool(const float* x, int64_t n);
using TakeTop = void(const float* x, int64_t n, size_t k,
                     std::vector<TopLogit>& top);  // finite ones, in order

bool all_finite_scalar(const float* x, int64_t n) {
  return std::all_of(x, x + n, [](float value) { return std::isfinite(value); });
}

void take_top_scalar(const float* x, int64_t n, size_t k, std::vector<TopLogit>& top) {
  top.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) top[static_cast<size_t>(i)] = {x[i], static_cast<int32_t>(i)};
  std::ranges::partial_sort(top, top.begin() + static_cast<std::ptrdiff_t>(k), is_told_before);
  top.resize(k);
}

PARLANCE_INLINE bool all_finite_by_lanes(const float* x, int64_t n) {
  constexpr int64_t kLanes = 64;
  constexpr uint32_t kAllOnes = 0x7f800000;  // the exponent of what is not finite
  uint32_t bad[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      bad[lane] |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x[i + lane]) & kAllOnes) == kAllOnes);
  }
  const bool is_bad = std::any_of(bad, bad + kLanes, [](uint32_t of_lane) { return of_lane != 0; });
  return !is_bad && all_finite_scalar(x + i, n - i);
}

PARLANCE_INLINE bool any_above_by_lanes(const float* x, float threshold) {
  uint32_t found = 0;
  for (int64_t lane = 0; lane < 64; ++lane) found |= static_cast<uint32_t>(x[lane] > threshold);
  return found != 0;
}

// A heap whose front is the first to go. Later ones replace it only where they are higher, not where they are
// equal.
PARLANCE_INLINE void take_top_by_lanes(const float* x, int64_t n, size_t k, std::vector<TopLogit>& top) {
  constexpr int64_t kBlock = 64;
  top.clear();
  float threshold = -INFINITY;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t end = std::min(from + kBlock, n);
    if (end - from == kBlock && !any_above_by_lanes(x + from, threshold)) continue;
    for (int64_t i = from; i < end; ++i) {
      if (!(x[i] > threshold)) continue;
      if (top.size() == k) {
        std::ranges::pop_heap(top, is_told_before);
        top.pop_back();
      }
      top.push_back({x[i], static_cast<int32_t>(i)});
      std::ranges::push_heap(top, is_told_before);
      if (top.size() == k) threshold = top.front().logit;
    }
  }
  std::ranges::sort(top, is_told_before);
}

#if PARLANCE_X86
PARLANCE_AVX2 bool all_finite_avx2(const float* x, int64_t n) {
  return all_finite_by_lanes(x, n);
}
PARLANCE_AVX512 bool all_finite_avx512(const float* x, int64_t n) {
  return all_finite_by_lanes(x, n);
}
PARLANCE_AVX2 void take_top_avx2(const float* x, int64_t n, size_t k, std::vector<TopLogit>& top) {
  take_top_by_lanes(x, n, k, top);
}
PARLANCE_AVX512 void take_top_avx512(const float* x, int64_t n, size_t k, std::vector<TopLogit>& top) {
  take_top_by_lanes(x, n, k, top);
}
#elif PARLANCE_NEON
bool all_finite_neon(const float* x, int64_t n) {
  return all_finite_by_lanes(x, n);
}
void take_top_neon(const float* x, int64_t n, size_t k, std::vector<TopLogit>& top) {
  take_top_by_lanes(x, n, k, top);
}
#endif

template <AllFinite all_finite, TakeTop take_top, SumOfPowers sum_of_powers>
void run_top_logits(Stream& stream, const TopLogitsArgs& args) {
  const int64_t n = args.x.ne[0], k = args.k();
  const auto* x = args.x.as<const float>();
  auto* out = args.out.as<int32_t>();
  parallel_rows(pool_of(stream), args.x.n_rows(), n, [&](int64_t first, int64_t last) {
    std::vector<TopLogit> top;
    for (int64_t row = first; row < last; ++row) {
      const float* values = x + row * n;
      int32_t* const told = out + row * args.out.ne[0];
      told[0] = all_finite(values, n) ? static_cast<int32_t>(k) : -1;
      if (told[0] < 0) continue;
      take_top(values, n, static_cast<size_t>(k), top);
      told[1] = std::bit_cast<int32_t>(sum_of_powers(values, n, top.front().logit));
      for (int64_t i = 0; i < k; ++i) {
        told[2 + i] = top[static_cast<size_t>(i)].index;
        told[2 + k + i] = std::bit_cast<int32_t>(top[static_cast<size_t>(i)].logit);
      }
    }
  });
}

}  // namespace

void fill_top_logits(OpTable& table, [[maybe_unused]] Isa isa) {
  table.top_logits = {run_top_logits<all_finite_scalar, take_top_scalar, sum_of_powers_scalar>};
#if PARLANCE_X86
  if (isa == Isa::avx2)
    table.top_logits = {run_top_logits<all_finite_avx2, take_top_avx2, sum_of_powers_avx2>};
  if (is_avx512(isa))
    table.top_logits = {run_top_logits<all_finite_avx512, take_top_avx512, sum_of_powers_avx512>};
#elif PARLANCE_NEON
  if (is_neon(isa)) table.top_logits = {run_top_logits<all_finite_neon, take_top_neon, sum_of_powers_scalar>};
#endif
}

}  // namespace parlance
