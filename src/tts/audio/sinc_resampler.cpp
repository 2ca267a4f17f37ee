#include "tts/audio/sinc_resampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "audio/limits.h"
#include "base/checked.h"

namespace parlance {

namespace {

constexpr double kZeroCrossings = 6, kRolloff = 0.99;

// The taps of one of the output's phases that are not zero.
struct Phase {
  int64_t first;  // input sample of the first tap, from that of the phase's group of inputs on
  std::vector<float> taps;
};

// In units of its group: the filter's value at input k for output j, both in the group's order.
double time_of(int64_t k, int64_t j, int64_t from, int64_t to, double base) {
  return (static_cast<double>(k) / static_cast<double>(from) -
          static_cast<double>(j) / static_cast<double>(to)) *
         base;
}

float tap_at(double t, double scale) {
  const double window = std::cos(t * std::numbers::pi / kZeroCrossings / 2);
  const double x = t * std::numbers::pi;
  return static_cast<float>((x == 0 ? 1 : std::sin(x) / x) * window * window * scale);
}

// The filters of `to` outputs that belong to each group of `from` inputs.
std::vector<Phase> make_phases(int64_t from, int64_t to) {
  const double base = static_cast<double>(std::min(from, to)) * kRolloff;
  const auto width = static_cast<int64_t>(std::ceil(kZeroCrossings * static_cast<double>(from) / base));
  std::vector<Phase> phases;
  for (int64_t j = 0; j < to; ++j) {
    Phase phase{.first = 0, .taps = {}};
    const int64_t center = j * from / to;  // the filter's middle is here or just behind
    for (int64_t k = center - width; k <= center + 1 + width; ++k) {
      const double t = time_of(k, j, from, to, base);
      if (std::fabs(t) >= kZeroCrossings) continue;
      if (phase.taps.empty()) phase.first = k;
      phase.taps.push_back(tap_at(t, base / static_cast<double>(from)));
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

}  // namespace

std::vector<float> sinc_resample(std::span<const float> samples, int from_hz, int to_hz) {
  assert(check_sample_rate("", from_hz) && check_sample_rate("", to_hz));
  if (from_hz == to_hz) return {samples.begin(), samples.end()};
  const int64_t divisor = std::gcd(from_hz, to_hz), from = from_hz / divisor, to = to_hz / divisor;
  const std::vector<Phase> phases = make_phases(from, to);
  const auto n_in = static_cast<int64_t>(samples.size());
  std::vector<float> out(static_cast<size_t>(div_up(n_in * to, from)));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto group = static_cast<int64_t>(i) / to;
    const Phase& phase = phases[i % static_cast<size_t>(to)];
    const int64_t first = group * from + phase.first;
    const auto n_taps = static_cast<int64_t>(phase.taps.size());
    float sum = 0;
    for (int64_t tap = std::max<int64_t>(-first, 0); tap < std::min(n_taps, n_in - first); ++tap)
      sum += phase.taps[static_cast<size_t>(tap)] * samples[static_cast<size_t>(first + tap)];
    out[i] = sum;
  }
  return out;
}

}  // namespace parlance
