#include "quant/scale_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

namespace {

constexpr int kMaxRun = 32;
constexpr float kSmallest = 1e-15f;  // runs below this are stored as zeros

float weighted_error(const OffsetSearch& search, const float* x, const float* weight, const uint8_t* codes,
                     float step, float lowest) {
  float sum = 0;
  for (int i = 0; i < search.n; ++i) {
    const float error = step * static_cast<float>(codes[i]) + lowest - x[i];
    sum += weight[i] * (search.absolute_error ? std::fabs(error) : error * error);
  }
  return sum;
}

void nearest_codes(const OffsetSearch& search, const float* x, float inverse, float lowest, uint8_t* codes) {
  for (int i = 0; i < search.n; ++i) {
    codes[i] = static_cast<uint8_t>(std::clamp(round_to_even(inverse * (x[i] - lowest)), 0, search.top));
  }
}

}  // namespace

StepAndOffset search_step_and_offset(const OffsetSearch& search, const float* x, const float* weight,
                                     uint8_t* codes) {
  const int n = search.n;
  assert(n <= kMaxRun);
  float lowest = x[0];
  float highest = x[0];
  float sum_w = weight[0];
  float sum_x = weight[0] * x[0];
  for (int i = 1; i < n; ++i) {
    if (x[i] < lowest) lowest = x[i];
    if (x[i] > highest) highest = x[i];
    sum_w += weight[i];
    sum_x += weight[i] * x[i];
  }
  if (lowest > 0) lowest = 0;
  if (highest == lowest) {
    std::fill_n(codes, n, uint8_t{0});
    return {0, -lowest};
  }

  const auto top = static_cast<float>(search.top);
  const float first_inverse = top / (highest - lowest);
  float step = 1 / first_inverse;
  nearest_codes(search, x, first_inverse, lowest, codes);
  float best = weighted_error(search, x, weight, codes, step, lowest);

  uint8_t trial[kMaxRun];
  for (int t = 0; t <= search.n_trials; ++t) {
    // The spread is measured from the offset found so far, which moves when a trial wins.
    const float inverse = (search.first_shift + 0.1f * static_cast<float>(t) + top) / (highest - lowest);
    nearest_codes(search, x, inverse, lowest, trial);
    float sum_l = 0;
    float sum_l2 = 0;
    float sum_xl = 0;
    for (int i = 0; i < n; ++i) {
      const auto l = static_cast<float>(trial[i]);
      const float wl = weight[i] * l;
      sum_l += wl;
      sum_l2 += wl * l;
      sum_xl += wl * x[i];
    }
    // Least squares for these codes: x near step * l + low.
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float trial_step = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    float trial_lowest = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    if (trial_lowest > 0) {
      trial_lowest = 0;
      trial_step = sum_xl / sum_l2;
    }
    const float error = weighted_error(search, x, weight, trial, trial_step, trial_lowest);
    if (error < best) {
      best = error;
      step = trial_step;
      lowest = trial_lowest;
      std::copy_n(trial, n, codes);
    }
  }
  return {step, -lowest};
}

float search_signed_step(const float* x, int n, int levels, uint8_t* codes) {
  assert(n <= kMaxRun);
  const float largest = largest_magnitude(x, n);
  if (std::fabs(largest) < kSmallest) {
    std::fill_n(codes, n, uint8_t{0});
    return 0;
  }
  float step = 0;
  float best = 0;
  const auto attempt = [&](float inverse, bool first) {
    uint8_t trial[kMaxRun];
    float sum_xl = 0;
    float sum_l2 = 0;
    for (int i = 0; i < n; ++i) {
      const int code = std::clamp(round_to_even(inverse * x[i]), -levels, levels - 1);
      const auto l = static_cast<float>(code);
      const float w = x[i] * x[i];
      sum_xl += w * x[i] * l;
      sum_l2 += w * l * l;
      trial[i] = static_cast<uint8_t>(code + levels);
    }
    if (!first && !(sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2)) return;
    step = sum_l2 != 0 ? sum_xl / sum_l2 : 0;
    best = step * sum_xl;
    std::copy_n(trial, n, codes);
  };
  const auto reach = static_cast<float>(levels);
  attempt(-reach / largest, true);
  for (int t = -9; t <= 9; ++t) {
    if (t != 0) attempt(-(reach + 0.1f * static_cast<float>(t)) / largest, false);
  }
  return step;
}

float refine_signed_step(const float* x, int n, int levels, uint8_t* codes) {
  assert(n <= kMaxRun);
  const float largest = largest_magnitude(x, n);
  if (std::fabs(largest) < kSmallest) {
    std::fill_n(codes, n, uint8_t{0});
    return 0;
  }
  const float inverse = -static_cast<float>(levels) / largest;
  float l[kMaxRun];  // whole numbers in [-levels, levels)
  float sum_xl = 0;
  float sum_l2 = 0;
  for (int i = 0; i < n; ++i) {
    l[i] = static_cast<float>(std::clamp(round_to_even(inverse * x[i]), -levels, levels - 1));
    const float w = x[i] * x[i];
    sum_xl += w * x[i] * l[i];
    sum_l2 += w * l[i] * l[i];
  }
  constexpr int kMaxPasses = 5;
  bool is_changed = true;
  for (int pass = 0; pass < kMaxPasses && is_changed; ++pass) {
    is_changed = false;
    for (int i = 0; i < n; ++i) {
      const float w = x[i] * x[i];
      float others_xl = sum_xl - w * x[i] * l[i];
      if (!(others_xl > 0)) continue;
      float others_l2 = sum_l2 - w * l[i] * l[i];
      const auto better =
          static_cast<float>(std::clamp(round_to_even(x[i] * others_l2 / others_xl), -levels, levels - 1));
      if (better == l[i]) continue;
      others_xl += w * x[i] * better;
      others_l2 += w * better * better;
      if (others_l2 > 0 && others_xl * others_xl * sum_l2 > sum_xl * sum_xl * others_l2) {
        l[i] = better;
        sum_xl = others_xl;
        sum_l2 = others_l2;
        is_changed = true;
      }
    }
  }
  for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(static_cast<int>(l[i]) + levels);
  return sum_l2 > 0 ? sum_xl / sum_l2 : 0;
}

}  // namespace parlance
