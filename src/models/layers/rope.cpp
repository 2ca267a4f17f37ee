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

std::vector<int32_t> interleaved_sections(std::span<const int64_t> sections, int64_t n_pairs) {
  const int64_t n_all = std::accumulate(sections.begin(), sections.end(), int64_t{0});
  std::vector<int32_t> of_pair;
  for (int64_t pair = 0; pair < n_pairs; ++pair) {
    const int64_t j = pair % n_all;
    of_pair.push_back(static_cast<int32_t>(j < 3 * sections[static_cast<size_t>(j % 3)] ? j % 3 : 3));
  }
  return of_pair;
}

std::vector<int32_t> consecutive_sections(std::span<const int64_t> sections, int64_t n_pairs) {
  const int64_t n_all = std::accumulate(sections.begin(), sections.end(), int64_t{0});
  std::vector<int32_t> of_pair;
  for (int64_t pair = 0; pair < n_pairs; ++pair) {
    int32_t section = 0;
    for (int64_t j = pair % n_all; j >= sections[static_cast<size_t>(section)]; ++section) {
      j -= sections[static_cast<size_t>(section)];
    }
    of_pair.push_back(section);
  }
  return of_pair;
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
