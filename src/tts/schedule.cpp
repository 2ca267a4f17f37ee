#include "tts/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace parlance {

std::vector<float> step_times(int n_step, float shift) {
  assert(n_step > 0);
  std::vector<float> times;
  for (int i = 0; i <= n_step; ++i) {
    const float t = static_cast<float>(i) / static_cast<float>(n_step);
    times.push_back(shift * t / (1 + (shift - 1) * t));
  }
  return times;
}

std::vector<int64_t> slots_per_step(int n_step, float shift, int64_t n_slots) {
  const std::vector<float> times = step_times(n_step, shift);
  std::vector<int64_t> counts;
  int64_t n_left = n_slots;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    const bool is_last = i + 2 == times.size();
    const double part = static_cast<double>(times[i + 1] - times[i]);
    const auto wanted = static_cast<int64_t>(std::ceil(static_cast<double>(n_slots) * part));
    counts.push_back(is_last ? n_left : std::min(wanted, n_left));
    n_left -= counts.back();
  }
  return counts;
}

}  // namespace parlance
