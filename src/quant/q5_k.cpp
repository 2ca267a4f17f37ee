#include "quant/q5_k.h"

#include "quant/k_runs.h"
#include "quant/k_scales.h"

namespace parlance {

void decode(const BlockQ5K& block, float* x) {
  const KScales scales = unpack_k_scales(block.scales);
  const float block_d = f32_from_f16(block.d);
  const float block_dmin = f32_from_f16(block.dmin);
  for (int r = 0; r < 8; ++r) {
    const float d = block_d * scales.step[r];
    const float m = block_dmin * scales.minimum[r];
    const uint8_t* q = block.q + 32 * (r / 2);
    const int shift = 4 * (r % 2);
    for (int c = 0; c < 32; ++c) {
      const int code = ((q[c] >> shift) & 15) | ((block.high[c] >> r) & 1) << 4;
      x[32 * r + c] = d * static_cast<float>(code) - m;
    }
  }
}

void encode(const float* x, BlockQ5K& block) {
  const KRuns runs = encode_k_runs(x, 31, -0.5f, 15);
  block.d = runs.d;
  block.dmin = runs.dmin;
  pack_k_scales(runs.scales, block.scales);
  for (int p = 0; p < 4; ++p) {
    const uint8_t* codes = runs.codes + 64 * p;
    for (int c = 0; c < 32; ++c) {
      block.q[32 * p + c] = static_cast<uint8_t>((codes[c] & 15) | (codes[c + 32] & 15) << 4);
    }
  }
  for (int c = 0; c < 32; ++c) {
    int bits = 0;
    for (int r = 0; r < 8; ++r) bits |= (runs.codes[32 * r + c] >> 4) << r;
    block.high[c] = static_cast<uint8_t>(bits);
  }
}

}  // namespace parlance
