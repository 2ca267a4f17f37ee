#include "quant/k_runs.h"

#include <algorithm>
#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"
#include "quant/scale_search.h"

namespace parlance {

namespace {

constexpr int kRunLength = 32;
constexpr float kTopRunScale = 63;

uint8_t scale_code(float x) {
  // Through a byte first, so that a negative step saturates as in the files of the field.
  return std::min<uint8_t>(63, static_cast<uint8_t>(round_to_even(x)));
}

}  // namespace

KRuns encode_k_runs(const float* x, int top, float first_shift, int n_trials) {
  const OffsetSearch search{
      .n = kRunLength, .top = top, .first_shift = first_shift, .n_trials = n_trials, .absolute_error = false};
  KRuns result;
  float weight[kRuns * kRunLength];
  for (int r = 0; r < kRuns; ++r) {
    const float* run = x + kRunLength * r;
    float sum_x2 = 0;
    for (int i = 0; i < kRunLength; ++i) sum_x2 += run[i] * run[i];
    const float rms = std::sqrt(sum_x2 / kRunLength);
    for (int i = 0; i < kRunLength; ++i) weight[kRunLength * r + i] = rms + std::fabs(run[i]);
  }
  StepAndOffset found[kRuns];
  for (int r = 0; r < kRuns; r += kSearchRuns) {
    const int start = kRunLength * r;
    search_steps_and_offsets(search, x + start, weight + start, found + r, result.codes + start);
  }
  float largest_step = 0;
  float largest_offset = 0;
  for (const StepAndOffset& run : found) {
    largest_step = std::max(largest_step, run.step);
    largest_offset = std::max(largest_offset, run.offset);
  }

  const float inverse_step = largest_step > 0 ? kTopRunScale / largest_step : 0;
  const float inverse_offset = largest_offset > 0 ? kTopRunScale / largest_offset : 0;
  result.d = f16_from_f32(largest_step / kTopRunScale);
  result.dmin = f16_from_f32(largest_offset / kTopRunScale);
  for (int r = 0; r < kRuns; ++r) {
    result.scales.step[r] = scale_code(inverse_step * found[r].step);
    result.scales.minimum[r] = scale_code(inverse_offset * found[r].offset);
  }

  // Codes again, for the step and offset that a decoder will see.
  for (int r = 0; r < kRuns; ++r) {
    const float d = f32_from_f16(result.d) * result.scales.step[r];
    if (d == 0) continue;
    const float low = f32_from_f16(result.dmin) * result.scales.minimum[r];
    for (int i = kRunLength * r; i < kRunLength * (r + 1); ++i) {
      result.codes[i] = static_cast<uint8_t>(std::clamp(round_to_even((x[i] + low) / d), 0, top));
    }
  }
  return result;
}

}  // namespace parlance
