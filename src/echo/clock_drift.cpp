#include "echo/clock_drift.h"

#include <algorithm>

namespace parlance {

namespace {

constexpr double kLateGrows = 3e-4, kDriftGrows = 1e-10;  // variances, a frame
constexpr double kMostLate = 1;                           // samples that are corrected at once
constexpr double kMostDrift = 0.08;                       // samples a frame: 500 ppm
constexpr double kLeastInformation = 1e-6;

}  // namespace

double ClockDrift::take(const EchoFilter::Misalignment& found) {
  if (found.information < kLeastInformation) return 0;
  Uncertainty& u = uncertainty_;
  u.late += 2 * u.both + u.drift + kLateGrows;
  u.both += u.drift;
  u.drift += kDriftGrows;
  const double late = std::clamp(found.samples, -kMostLate, kMostLate);
  const double sum = u.late + 1 / found.information;
  const double late_gain = u.late / sum, drift_gain = u.both / sum;
  drift_ = std::clamp(drift_ + drift_gain * late, -kMostDrift, kMostDrift);
  u.drift -= drift_gain * u.both;
  u.both -= late_gain * u.both;
  u.late -= late_gain * u.late;
  return late_gain * late;
}

}  // namespace parlance
