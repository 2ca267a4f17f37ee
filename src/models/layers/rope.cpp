#include "models/layers/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace parlance {

namespace {

// The pair that turns `rotations` times within the original context.
double pair_with_rotations(const RopeParameters& rope, double rotations) {
  const auto n = static_cast<double>(rope.n_rot);
  return n * std::log(rope.original_context_length / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

}  // namespace

std::vector<float> pairs_of_no_section(const RopeParameters& rope) {
  const int64_t n_all = std::accumulate(rope.sections.begin(), rope.sections.end(), int64_t{0});
  std::vector<float> is_other(static_cast<size_t>(rope.n_rot / 2));
  for (size_t pair = 0; pair < is_other.size(); ++pair) {
    const int64_t j = static_cast<int64_t>(pair) % n_all;
    is_other[pair] = j < 3 * rope.sections[static_cast<size_t>(j % 3)] ? 0.0f : 1.0f;
  }
  return is_other;
}

RopeFrequencies rope_frequencies(const RopeParameters& rope, std::span<const float> factors) {
  const auto n_pairs = static_cast<size_t>(rope.n_rot / 2);
  const bool yarn = factors.empty() && rope.scaling == RopeScaling::yarn;
  const bool linear = factors.empty() && rope.scaling == RopeScaling::linear;
  const double low = std::max(0.0, std::floor(pair_with_rotations(rope, rope.beta_fast)));
  const double high =
      std::min(static_cast<double>(rope.n_rot - 1), std::ceil(pair_with_rotations(rope, rope.beta_slow)));

  RopeFrequencies result;
  result.inverse.resize(2 * n_pairs);
  for (size_t i = 0; i < n_pairs; ++i) {
    double frequency = std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope.n_rot));
    if (!factors.empty()) {
      frequency /= static_cast<double>(factors[i]);
    } else if (linear) {
      frequency /= rope.factor;
    } else if (yarn) {
      // Fast pairs keep their frequency, slow ones are stretched, with a ramp in between.
      const double ramp =
          1 - std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
      frequency = frequency / rope.factor * (1 - ramp) + frequency * ramp;
    }
    const auto head = static_cast<float>(frequency);
    result.inverse[i] = head;
    result.inverse[n_pairs + i] = static_cast<float>(frequency - static_cast<double>(head));
  }
  if (yarn) result.magnitude = static_cast<float>((1 + 0.1 * std::log(rope.factor)) * rope.attn_factor);
  return result;
}

}  // namespace parlance
