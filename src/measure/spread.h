// How values that were measured many times lie.
#pragma once

#include <algorithm>
#include <vector>

namespace parlance {

struct Spread {
  double median = 0, p95 = 0, most = 0;
};

// Zeros for no values.
inline Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const size_t n = values.size();
  return {values[n / 2], values[std::min(n - 1, n * 95 / 100)], values.back()};
}

}  // namespace parlance
