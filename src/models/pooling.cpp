#include "models/pooling.h"

#include <cassert>
#include <cstddef>

namespace parlance {

int64_t n_pooled_rows(Pooling pooling, int64_t n_tokens) {
  return pooling == Pooling::mean || pooling == Pooling::first ? n_tokens : 1;
}

std::vector<float> pooled(Pooling pooling, std::span<const float> rows, int64_t n_embd) {
  const auto n = static_cast<size_t>(n_embd);
  assert(!rows.empty() && rows.size() % n == 0);
  if (pooling != Pooling::mean) {
    const std::span<const float> row = pooling == Pooling::first ? rows.first(n) : rows.last(n);
    return {row.begin(), row.end()};
  }
  std::vector<double> sums(n);
  for (size_t i = 0; i < rows.size(); ++i) sums[i % n] += static_cast<double>(rows[i]);
  std::vector<float> mean(n);
  for (size_t i = 0; i < n; ++i) mean[i] = static_cast<float>(sums[i] / static_cast<double>(rows.size() / n));
  return mean;
}

}  // namespace parlance
