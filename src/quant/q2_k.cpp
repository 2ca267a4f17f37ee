#include "quant/q2_k.h"

#include <algorithm>
#include <cmath>

#include "quant/rounding.h"
#include "quant/scale_search.h"
#include "quant/two_bit_codes.h"

namespace parlance {

namespace {

constexpr float kTopGroupScale = 15;

}  // namespace

void decode(const BlockQ2K& block, float* x) {
  const float block_d = f32_from_f16(block.d);
  const float block_dmin = f32_from_f16(block.dmin);
  for (int g = 0; g < kGroups; ++g) {
    const float d = block_d * static_cast<float>(block.scales[g] & 15);
    const float m = block_dmin * static_cast<float>(block.scales[g] >> 4);
    for (int i = kGroupLength * g; i < kGroupLength * (g + 1); ++i) {
      x[i] = d * static_cast<float>(two_bits(block.q, i)) - m;
    }
  }
}

void encode(const float* x, BlockQ2K& block) {
  const OffsetSearch search{
      .n = kGroupLength, .top = 3, .first_shift = -0.5f, .n_trials = 15, .absolute_error = true};
  uint8_t codes[256];
  float weight[256];
  for (int i = 0; i < 256; ++i) weight[i] = std::fabs(x[i]);
  StepAndOffset found[kGroups];
  for (int g = 0; g < kGroups; g += kSearchRuns) {
    const int start = kGroupLength * g;
    search_steps_and_offsets(search, x + start, weight + start, found + g, codes + start);
  }
  float largest_step = 0;
  float largest_offset = 0;
  for (const StepAndOffset& group : found) {
    largest_step = std::max(largest_step, group.step);
    largest_offset = std::max(largest_offset, group.offset);
  }

  const float inverse_step = largest_step > 0 ? kTopGroupScale / largest_step : 0;
  const float inverse_offset = largest_offset > 0 ? kTopGroupScale / largest_offset : 0;
  block.d = f16_from_f32(largest_step / kTopGroupScale);
  block.dmin = f16_from_f32(largest_offset / kTopGroupScale);
  for (int g = 0; g < kGroups; ++g) {
    block.scales[g] = static_cast<uint8_t>(round_to_even(inverse_step * found[g].step) |
                                           round_to_even(inverse_offset * found[g].offset) << 4);
    // Codes again, for the step and offset that a decoder will see.
    const float d = f32_from_f16(block.d) * static_cast<float>(block.scales[g] & 15);
    if (d == 0) continue;
    const float low = f32_from_f16(block.dmin) * static_cast<float>(block.scales[g] >> 4);
    for (int i = kGroupLength * g; i < kGroupLength * (g + 1); ++i) {
      codes[i] = static_cast<uint8_t>(std::clamp(round_to_even((x[i] + low) / d), 0, 3));
    }
  }
  pack_two_bits(codes, block.q);
}

}  // namespace parlance
