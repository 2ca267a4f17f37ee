#include "quant/iq4_xs.h"

#include <algorithm>

#include "quant/block32.h"
#include "quant/iq4_search.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockIq4Xs& block, float* x) {
  const float block_d = f32_from_f16(block.d);
  for (int r = 0; r < kRuns; ++r) {
    const float d = block_d * static_cast<float>(step_of(block, r));
    const uint8_t* q = block.q + 16 * r;
    for (int i = 0; i < 32; ++i) x[32 * r + i] = d * static_cast<float>(kIq4Values[nibble(q, i)]);
  }
}

void encode(const float* x, BlockIq4Xs& block) {
  float step[kRuns];
  for (int r = 0; r < kRuns; ++r) step[r] = search_iq4_step(x + 32 * r);
  const float d = -largest_magnitude(step, kRuns) / 32;
  const float inverse = d != 0 ? 1 / d : 0;
  block = BlockIq4Xs{};
  block.d = f16_from_f32(d);
  for (int r = 0; r < kRuns; ++r) {
    const int scale = std::clamp(round_to_even(inverse * step[r]), -32, 31);
    const float run_d = d * static_cast<float>(scale);
    const float run_inverse = run_d != 0 ? 1 / run_d : 0;
    uint8_t codes[32];
    for (int i = 0; i < 32; ++i)
      codes[i] = static_cast<uint8_t>(nearest_iq4_code(run_inverse * x[32 * r + i]));
    pack_nibbles(codes, block.q + 16 * r);
    const int stored = scale + 32;
    block.scales_low[r / 2] = static_cast<uint8_t>(block.scales_low[r / 2] | (stored & 15) << (4 * (r % 2)));
    block.scales_high = static_cast<uint16_t>(block.scales_high | (stored >> 4) << (2 * r));
  }
}

}  // namespace parlance
