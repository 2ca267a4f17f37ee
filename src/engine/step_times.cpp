#include "engine/step_times.h"

#include <algorithm>
#include <bit>

namespace parlance {

namespace {

// Of the time that may be added to a step: no two steps take exactly as long.
constexpr double kCaution = 0.75;

// The same where time is looked at in between: it is the step alone that may take longer.
constexpr double kMeasuredCaution = 0.78;

// Before anything is known of a prompt's tokens; and no more than there are rows of answers, so that even
// where every row costs the same the step is not stretched too far.
constexpr int64_t kFirstAllowance = 4;

// The next piece is at most this many times as long as the one before it: a few steps measured while the
// machine was slower or faster do no harm.
constexpr double kMostGrowth = 1.5;

constexpr int64_t kMostStepsWithPrompt = 8;

// Attention makes a token dearer the more there are before it. So many more, by this factor and at least this
// number, is another cost.
constexpr double kFarFactor = 1.25;
constexpr int64_t kFar = 256;

// What a token adds is at least this share of the step divided by its rows; less is an error of measurement.
constexpr double kLeastShare = 0.1;

size_t class_of(int64_t n, size_t n_classes) {
  const auto width = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1)) - 1));
  return std::min(width, n_classes - 1);
}

}  // namespace

void RecentTimes::note(double ms) {
  ms_[n_++ % ms_.size()] = ms;
}

double RecentTimes::median() const {
  auto sorted = ms_;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(n_, sorted.size()));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

double RecentTimes::high() const {
  auto sorted = ms_;
  const auto n = static_cast<ptrdiff_t>(std::min(n_, sorted.size()));
  const auto second = sorted.begin() + std::max<ptrdiff_t>(0, n - 2);
  std::nth_element(sorted.begin(), second, sorted.begin() + n);
  return *second;
}

double RecentTimes::least() const {
  return *std::min_element(ms_.begin(), ms_.begin() + static_cast<ptrdiff_t>(std::min(n_, ms_.size())));
}

bool is_far(int64_t depth, int64_t known) {
  return static_cast<double>(depth) > kFarFactor * static_cast<double>(known + kFar);
}

void StepTimes::note(int64_t n_running, int64_t n_prompt, int64_t depth, double ms) {
  if (n_running == 0) return;
  Class& known = classes_[class_of(n_running, kClasses)];
  if (n_prompt == 0) {
    known.plain.note(ms);
    known.n_since_plain = 0;
    return;
  }
  ++known.n_since_plain;
  if (is_far(depth, known.depth)) known.prompt = {};
  known.n_last = n_prompt;
  known.depth = depth;
  if (known.plain.empty()) return;
  const double least = kLeastShare * ms / static_cast<double>(n_running + n_prompt);
  known.prompt.note(std::max((ms - known.plain.median()) / static_cast<double>(n_prompt), least));
}

int64_t StepTimes::allowance(int64_t n_running, int64_t depth, int64_t most) const {
  if (n_running == 0) return most;
  const Class& known = classes_[class_of(n_running, kClasses)];
  if (known.plain.empty() || known.n_since_plain >= kMostStepsWithPrompt) return 0;
  if (known.prompt.empty() || is_far(depth, known.depth)) return std::min({n_running, kFirstAllowance, most});
  const double bearable = kCaution * (kMostStretch - 1) * known.plain.median() / known.prompt.high();
  const double grown = kMostGrowth * static_cast<double>(known.n_last) + 1;
  return std::clamp(static_cast<int64_t>(std::min(bearable, grown)), int64_t{1}, most);
}

double StepTimes::portion_ms(int64_t n_running) const {
  const RecentTimes& plain = classes_[class_of(n_running, kClasses)].plain;
  return plain.empty() ? 0 : kMeasuredCaution * (kMostStretch - 1) * plain.median();
}

}  // namespace parlance
