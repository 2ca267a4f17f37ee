#include "asr/timestamp_repair.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace parlance {

namespace {

constexpr size_t kMostToSnap = 2;

// Which times are on the longest non-decreasing subsequence. Of several, it is the one that ends first, and
// every time on it follows the earliest that a subsequence of its length can go through.
std::vector<bool> longest_rise(std::span<const int64_t> times) {
  constexpr size_t kNone = SIZE_MAX;
  // By length - 1, the indices at which the longest subsequence that ends there has that length. Their times
  // fall: an index whose time were no less than an earlier one's would be on the next list.
  std::vector<std::vector<size_t>> ends;
  std::vector<size_t> before(times.size(), kNone);
  for (size_t i = 0; i < times.size(); ++i) {
    const auto list = std::upper_bound(
        ends.begin(), ends.end(), times[i],
        [&](int64_t time, const std::vector<size_t>& indices) { return time < times[indices.back()]; });
    if (list != ends.begin()) {
      const std::vector<size_t>& shorter = *(list - 1);
      before[i] = *std::partition_point(shorter.begin(), shorter.end(),
                                        [&](size_t j) { return times[j] > times[i]; });
    }
    if (list == ends.end()) {
      ends.push_back({i});
    } else {
      list->push_back(i);
    }
  }
  std::vector<bool> stays(times.size(), false);
  if (ends.empty()) return stays;
  for (size_t i = ends.back().front(); i != kNone; i = before[i]) stays[i] = true;
  return stays;
}

// Fills `gap`, which lies between two times that stay; one of them is missing at either end of the sequence.
void fill(std::span<int64_t> gap, std::optional<int64_t> left, std::optional<int64_t> right) {
  const size_t n = gap.size();
  for (size_t k = 0; k < n; ++k) {
    if (!left || !right) {
      gap[k] = left ? *left : *right;
    } else if (n <= kMostToSnap) {
      gap[k] = k + 1 <= n - k ? *left : *right;
    } else {
      const double step = static_cast<double>(*right - *left) / static_cast<double>(n + 1);
      gap[k] = static_cast<int64_t>(static_cast<double>(*left) + step * static_cast<double>(k + 1));
    }
  }
}

}  // namespace

std::vector<int64_t> repair_timestamps(std::span<const int64_t> times_ms) {
  const std::vector<bool> stays = longest_rise(times_ms);
  std::vector<int64_t> repaired(times_ms.begin(), times_ms.end());
  for (size_t i = 0; i < repaired.size();) {
    if (stays[i]) {
      ++i;
      continue;
    }
    const auto end = static_cast<size_t>(
        std::find(stays.begin() + static_cast<ptrdiff_t>(i), stays.end(), true) - stays.begin());
    fill(std::span(repaired).subspan(i, end - i), i > 0 ? std::optional(repaired[i - 1]) : std::nullopt,
         end < repaired.size() ? std::optional(repaired[end]) : std::nullopt);
    i = end;
  }
  return repaired;
}

}  // namespace parlance
