#include "eval/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <random>
#include <vector>

namespace parlance {

Interval bootstrap(size_t n, const std::function<double(std::span<const size_t> drawn)>& statistic,
                   int n_samples, uint64_t seed) {
  assert(n > 0 && n_samples > 0);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> any(0, n - 1);
  std::vector<size_t> drawn(n);
  std::vector<double> values;
  for (int i = 0; i < n_samples; ++i) {
    for (size_t& text : drawn) text = any(random);
    values.push_back(statistic(drawn));
  }
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace parlance
