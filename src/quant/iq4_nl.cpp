#include "quant/iq4_nl.h"

#include "quant/block32.h"
#include "quant/iq4_search.h"

namespace parlance {

void decode(const BlockIq4Nl& block, float* x) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(kIq4Values[nibble(block.q, i)]);
}

void encode(const float* x, BlockIq4Nl& block) {
  const float d = search_iq4_step(x);
  const float inverse = d != 0 ? 1 / d : 0;
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(nearest_iq4_code(inverse * x[i]));
  block.d = f16_from_f32(d);
  pack_nibbles(codes, block.q);
}

}  // namespace parlance
