#include "echo/echo_delay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parlance {

namespace {

constexpr float kForgets = 0.998f;       // a frame: some five seconds count
constexpr int kFramesToTell = 25;        // of sound until a delay is believed
constexpr float kAlike = 0.15f;          // and correlation
constexpr float kMoreAlike = 2;          // than at the delay that was believed: it has changed
constexpr size_t kNear = 4;              // shifts around that: clocks differ, and it has moved
constexpr float kSoundingPower = 1e-6f;  // of a frame, per sample

}  // namespace

EchoDelay::Steps EchoDelay::Whitener::next(std::span<const float> samples) {
  Steps steps;
  for (size_t i = 0; i < kStep; ++i) {
    const auto group = samples.subspan(i * kEvery, kEvery);
    const float mean = std::accumulate(group.begin(), group.end(), 0.0f) / static_cast<float>(kEvery);
    steps[i] = mean - 0.9f * last_;
    last_ = mean;
  }
  return steps;
}

EchoDelay::EchoDelay() : past_(kLags + kStep), likeness_(kLags) {}

void EchoDelay::take(std::span<const float> heard, std::span<const float> played) {
  const auto power = [](const Steps& s) { return std::inner_product(s.begin(), s.end(), s.begin(), 0.0f); };
  const Steps in = heard_.next(heard), out = played_.next(played);
  std::shift_left(past_.begin(), past_.end(), kStep);
  std::ranges::copy(out, past_.end() - kStep);
  heard_power_ = kForgets * heard_power_ + power(in);
  played_power_ = kForgets * played_power_ + power(out);
  n_sounding_ += power(out) > kSoundingPower * kStep;
  for (float& x : likeness_) x *= kForgets;
  // likeness_[kLags - 1 - i] is of the shift i, so that memory is read forwards.
  for (size_t k = 0; k < kStep; ++k) {
    const float* const then = past_.data() + k + 1;
    for (size_t i = 0; i < kLags; ++i) likeness_[i] += in[k] * then[i];
  }
  if (n_sounding_ < kFramesToTell) return;
  const auto most_alike = [&](size_t first, size_t end) {
    const auto shifts = std::span(likeness_).subspan(first, end - first);
    const auto best = std::ranges::max_element(shifts, {}, [](float x) { return std::abs(x); });
    return first + static_cast<size_t>(best - shifts.begin());
  };
  if (best_) best_ = most_alike(*best_ - std::min(*best_, kNear), std::min(*best_ + kNear + 1, kLags));
  const size_t best = most_alike(0, kLags);
  const float likeness = std::abs(likeness_[best]);
  const bool is_it = likeness >= kAlike * std::sqrt(heard_power_ * played_power_) &&
                     (!best_ || likeness >= kMoreAlike * std::abs(likeness_[*best_]));
  if (is_it) best_ = best;
  if (!best_) return;
  ms_ = static_cast<int>(kLags - 1 - *best_) * 10 / static_cast<int>(kStep);
}

}  // namespace parlance
