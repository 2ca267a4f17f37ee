#include "asr/audio_split.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace parlance {

namespace {

int64_t samples_in(double seconds, int rate_hz) {
  return static_cast<int64_t>(seconds * rate_hz);
}

// The quietest sample of the quietest window; the first where there are several.
int64_t quietest_sample(std::span<const float> samples, int64_t n_window) {
  const auto loudness = [&](int64_t i) { return std::fabs(samples[static_cast<size_t>(i)]); };
  const auto n = static_cast<int64_t>(samples.size());
  double sum = 0;  // sums of 16-bit samples are exact, whichever way they came about
  for (int64_t i = 0; i < n_window; ++i) sum += loudness(i);
  double least_sum = sum;
  int64_t window = 0;
  for (int64_t start = 1; start + n_window <= n; ++start) {
    sum += static_cast<double>(loudness(start + n_window - 1)) - loudness(start - 1);
    if (sum >= least_sum) continue;
    least_sum = sum;
    window = start;
  }
  int64_t quietest = window;
  for (int64_t i = window + 1; i < window + n_window; ++i) {
    if (loudness(i) < loudness(quietest)) quietest = i;
  }
  return quietest;
}

}  // namespace

std::optional<int64_t> next_cut(std::span<const float> rest, const SplitRule& rule, bool is_end) {
  assert(rule.rate_hz > 0 && rule.search_seconds >= 0 && rule.search_seconds < rule.max_seconds);
  constexpr int64_t kShortestWindow = 4;
  const auto n = static_cast<int64_t>(rest.size());
  const int64_t target = std::max<int64_t>(1, samples_in(rule.max_seconds, rule.rate_hz));
  const int64_t search = samples_in(rule.search_seconds, rule.rate_hz);
  const int64_t whole = std::max(target, samples_in(rule.whole_seconds, rule.rate_hz));
  const int64_t n_window = std::max(kShortestWindow, samples_in(rule.window_seconds, rule.rate_hz));
  if (n <= whole || (n < target + search && !is_end)) return std::nullopt;

  const int64_t left = std::max<int64_t>(0, target - search);
  const int64_t right = std::min(n, target + search);
  if (right - left <= n_window) return target;
  const auto candidates = rest.subspan(static_cast<size_t>(left), static_cast<size_t>(right - left));
  return std::max<int64_t>(1, left + quietest_sample(candidates, n_window));
}

std::vector<int64_t> split_points(std::span<const float> samples, const SplitRule& rule) {
  std::vector<int64_t> points;
  int64_t start = 0;
  while (const auto cut = next_cut(samples.subspan(static_cast<size_t>(start)), rule, /*is_end=*/true)) {
    start += *cut;
    points.push_back(start);
  }
  return points;
}

}  // namespace parlance
