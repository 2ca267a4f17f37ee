#include "quant/q8_0.h"

#include <cmath>

#include "quant/block32.h"
#include "quant/rounding.h"

namespace parlance {

void decode(const BlockQ8_0& block, float* x) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(block.q[i]);
}

void encode(const float* x, BlockQ8_0& block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  const float d = step_or_nan(largest / 127, x, 32);
  const float inverse = d != 0 ? 1 / d : 0;
  block.d = f16_from_f32(d);
  for (int i = 0; i < 32; ++i) block.q[i] = static_cast<int8_t>(round_half_away(x[i] * inverse));
}

}  // namespace parlance
