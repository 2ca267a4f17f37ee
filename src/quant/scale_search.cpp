#include "quant/scale_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

namespace {

constexpr int kMaxRun = 32;

// A number for each of the four runs; arrays of them hold one value of each run after the other.
using Lanes = float __attribute__((vector_size(sizeof(float) * kSearchRuns)));

void transpose(const float* runs, int n, Lanes* lanes) {
  for (int r = 0; r < kSearchRuns; ++r) {
    for (int i = 0; i < n; ++i) lanes[i][r] = runs[r * n + i];
  }
}

Lanes same_for_all(float x) {
  return Lanes{} + x;
}

// Rounds to even like round_to_even(); exact for |x| < 2^22.
Lanes nearest(Lanes x) {
  constexpr float kShift = 0x1.8p23f;
  return (x + kShift) - kShift;
}

// Limits in the order that makes NaN the lowest code.
Lanes limited(Lanes x, float lowest, float highest) {
  const Lanes floored = x > lowest ? x : same_for_all(lowest);
  return floored < highest ? floored : same_for_all(highest);
}

// Codes in [0, top]. Runs of subnormal numbers overflow here: as with round_to_even(), infinity is code 0.
Lanes offset_code(Lanes x, float top) {
  return x < 0x1p22f ? limited(nearest(x), 0, top) : Lanes{};
}

Lanes weighted_error(const OffsetSearch& search, const Lanes* x, const Lanes* weight, const Lanes* codes,
                     Lanes step, Lanes lowest) {
  Lanes sum = {};
  for (int i = 0; i < search.n; ++i) {
    const Lanes error = step * codes[i] + lowest - x[i];
    const Lanes magnitude = search.absolute_error ? (error < 0 ? -error : error) : error * error;
    sum += weight[i] * magnitude;
  }
  return sum;
}

}  // namespace

void search_steps_and_offsets(const OffsetSearch& search, const float* x_runs, const float* weight_runs,
                              StepAndOffset* found, uint8_t* codes) {
  const int n = search.n;
  assert(n >= 1 && n <= kMaxRun);
  Lanes x[kMaxRun] = {};
  Lanes weight[kMaxRun] = {};
  transpose(x_runs, n, x);
  transpose(weight_runs, n, weight);

  Lanes lowest = {};
  Lanes highest = x[0];
  Lanes sum_w = {};
  Lanes sum_x = {};
  for (int i = 0; i < n; ++i) {
    lowest = x[i] < lowest ? x[i] : lowest;
    highest = x[i] > highest ? x[i] : highest;
    sum_w += weight[i];
    sum_x += weight[i] * x[i];
  }

  const auto top = static_cast<float>(search.top);
  const auto is_flat = lowest == highest;  // nothing to search: step 0 and codes 0
  const Lanes first_inverse = top / (highest - lowest);
  Lanes step = 1 / first_inverse;
  Lanes kept[kMaxRun];
  for (int i = 0; i < n; ++i) kept[i] = offset_code(first_inverse * (x[i] - lowest), top);
  Lanes best = weighted_error(search, x, weight, kept, step, lowest);

  for (int t = 0; t <= search.n_trials; ++t) {
    // The spread is measured from the offset found so far, which moves when a trial wins.
    const Lanes inverse = (search.first_shift + 0.1f * static_cast<float>(t) + top) / (highest - lowest);
    Lanes trial[kMaxRun];
    Lanes sum_l = {};
    Lanes sum_l2 = {};
    Lanes sum_xl = {};
    for (int i = 0; i < n; ++i) {
      const Lanes l = offset_code(inverse * (x[i] - lowest), top);
      const Lanes wl = weight[i] * l;
      trial[i] = l;
      sum_l += wl;
      sum_l2 += wl * l;
      sum_xl += wl * x[i];
    }
    // Least squares for these codes: x near step * l + low, where low may not be above 0.
    const Lanes determinant = sum_w * sum_l2 - sum_l * sum_l;
    const Lanes free_lowest = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    const Lanes free_step = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    const auto is_above = free_lowest > 0;
    const Lanes trial_lowest = is_above ? Lanes{} : free_lowest;
    const Lanes trial_step = is_above ? sum_xl / sum_l2 : free_step;
    const Lanes error = weighted_error(search, x, weight, trial, trial_step, trial_lowest);
    const auto wins = (determinant > 0) & (error < best) & ~is_flat;
    best = wins ? error : best;
    step = wins ? trial_step : step;
    lowest = wins ? trial_lowest : lowest;
    for (int i = 0; i < n; ++i) kept[i] = wins ? trial[i] : kept[i];
  }

  for (int r = 0; r < kSearchRuns; ++r) {
    found[r] = {is_flat[r] ? 0 : step[r], -lowest[r]};
    for (int i = 0; i < n; ++i) codes[r * n + i] = is_flat[r] ? uint8_t{0} : static_cast<uint8_t>(kept[i][r]);
  }
}

void search_signed_steps(const float* x_runs, int n, int levels, float* step_runs, uint8_t* codes) {
  assert(n >= 1 && n <= kMaxRun);
  Lanes x[kMaxRun] = {};
  transpose(x_runs, n, x);
  Lanes largest;
  for (int r = 0; r < kSearchRuns; ++r) largest[r] = largest_magnitude(x_runs + r * n, n);

  const auto reach = static_cast<float>(levels);
  Lanes step = {};
  Lanes best = same_for_all(-1);  // below what any trial reaches
  Lanes kept[kMaxRun] = {};
  const auto attempt = [&](float spread) {
    const Lanes inverse = -spread / largest;
    Lanes trial[kMaxRun];
    Lanes sum_xl = {};
    Lanes sum_l2 = {};
    for (int i = 0; i < n; ++i) {
      const Lanes l = limited(nearest(inverse * x[i]), -reach, reach - 1);
      const Lanes w = x[i] * x[i];
      trial[i] = l;
      sum_xl += w * x[i] * l;
      sum_l2 += w * l * l;
    }
    const auto wins = (sum_l2 > 0) & (sum_xl * sum_xl > best * sum_l2);
    const Lanes trial_step = sum_xl / sum_l2;
    step = wins ? trial_step : step;
    best = wins ? trial_step * sum_xl : best;
    for (int i = 0; i < n; ++i) kept[i] = wins ? trial[i] : kept[i];
  };
  attempt(reach);
  for (int t = -9; t <= 9; ++t) {
    if (t != 0) attempt(reach + 0.1f * static_cast<float>(t));
  }

  for (int r = 0; r < kSearchRuns; ++r) {
    const bool is_zero = std::fabs(largest[r]) < kNegligible;
    step_runs[r] = is_zero ? 0 : step[r];
    for (int i = 0; i < n; ++i)
      codes[r * n + i] = is_zero ? uint8_t{0} : static_cast<uint8_t>(kept[i][r] + reach);
  }
}

float refine_signed_step(const float* x, int n, int levels, uint8_t* codes) {
  assert(n <= kMaxRun);
  const float largest = largest_magnitude(x, n);
  if (std::fabs(largest) < kNegligible) {
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
