#include "engine/step_times.h"

#include <algorithm>
#include <bit>

namespace parlance {

namespace {

// What is learned fades, since texts grow longer and machines busier.
constexpr double kNewShare = 0.2;

// Of the time that may be added to a step: estimates are wrong now and then.
constexpr double kCaution = 0.7;

// Before anything is known of a prompt's tokens.
constexpr int64_t kFirstAllowance = 4;

size_t class_of(int64_t n, size_t n_classes) {
  const auto width = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1)) - 1));
  return std::min(width, n_classes - 1);
}

void blend(double& known, double ms) {
  known = known == 0 ? ms : known + kNewShare * (ms - known);
}

}  // namespace

void StepTimes::note(int64_t n_running, int64_t n_prompt, double ms) {
  if (n_prompt == 0) {
    blend(plain_ms_[class_of(n_running, kClasses)], ms);
  } else if (n_running == 0) {
    if (prompt_ms_ == 0) prompt_ms_ = ms / static_cast<double>(n_prompt);
  } else if (const double plain = plain_ms(n_running); plain > 0) {
    blend(prompt_ms_, std::max(ms - plain, 0.02 * ms) / static_cast<double>(n_prompt));
  }
}

// Of the nearest number of rows that is known, since a few rows cost little more than one.
double StepTimes::plain_ms(int64_t n_running) const {
  const size_t wanted = class_of(n_running, kClasses);
  for (size_t distance = 0; distance < kClasses; ++distance) {
    if (distance <= wanted && plain_ms_[wanted - distance] > 0) return plain_ms_[wanted - distance];
    if (wanted + distance < kClasses && plain_ms_[wanted + distance] > 0) return plain_ms_[wanted + distance];
  }
  return 0;
}

int64_t StepTimes::allowance(int64_t n_running, int64_t most) const {
  if (n_running == 0) return most;
  const double plain = plain_ms(n_running);
  if (plain == 0 || prompt_ms_ == 0) return std::min(kFirstAllowance, most);
  const double n = kCaution * (kMostStretch - 1) * plain / prompt_ms_;
  return std::clamp(static_cast<int64_t>(std::min(n, 1e9)), int64_t{1}, most);
}

}  // namespace parlance
