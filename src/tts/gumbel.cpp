#include "tts/gumbel.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "tts/philox.h"

namespace parlance {

float gumbel_score(float value, float temperature, uint64_t seed, uint64_t call, uint64_t element) {
  constexpr float kTiny = 1e-10f;  // keeps both logarithms finite
  const float u = philox_uniform(seed, call, element);
  const float noise = -std::log(-std::log(u + kTiny) + kTiny);
  return value * (1 / temperature) + noise;
}

float smallest_kept(std::span<const float> values, float ratio, std::span<float> scratch) {
  assert(!values.empty() && scratch.size() >= values.size());
  const auto wanted = static_cast<ptrdiff_t>(std::ceil(ratio * static_cast<float>(values.size())));
  const ptrdiff_t n_kept = std::clamp<ptrdiff_t>(wanted, 1, static_cast<ptrdiff_t>(values.size()));
  const auto copy = scratch.first(values.size());
  std::ranges::copy(values, copy.begin());
  const auto last = copy.begin() + (n_kept - 1);
  std::nth_element(copy.begin(), last, copy.end(), std::greater<>());
  return *last;
}

}  // namespace parlance
