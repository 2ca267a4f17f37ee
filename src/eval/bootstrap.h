// How sure a difference is that was measured on some texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace parlance {

struct Interval {
  double low = 0, high = 0;
};

// The middle 95 % of `statistic` of so many samples of the texts 0..n-1, drawn with replacement (Efron,
// 1979): of pairs, since both sides of a difference are drawn together. `n` is 1 or more.
Interval bootstrap(size_t n, const std::function<double(std::span<const size_t> drawn)>& statistic,
                   int n_samples = 2000, uint64_t seed = 1);

}  // namespace parlance
