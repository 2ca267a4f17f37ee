#include "quant/q4_k.h"

#include "quant/k_runs.h"
#include "quant/k_scales.h"

namespace parlance {

void decode(const BlockQ4K& block, float* x) {
  const KScales scales = unpack_k_scales(block.scales);
  const float block_d = f32_from_f16(block.d);
  const float block_dmin = f32_from_f16(block.dmin);
  for (int r = 0; r < 8; ++r) {
    const float d = block_d * scales.step[r];
    const float m = block_dmin * scales.minimum[r];
    const uint8_t* q = block.q + 32 * (r / 2);
    const int shift = 4 * (r % 2);
    for (int c = 0; c < 32; ++c) x[32 * r + c] = d * static_cast<float>((q[c] >> shift) & 15) - m;
  }
}

void encode(const float* x, BlockQ4K& block) {
  const KRuns runs = encode_k_runs(x, 15, -1.0f, 20);
  block.d = runs.d;
  block.dmin = runs.dmin;
  pack_k_scales(runs.scales, block.scales);
  for (int p = 0; p < 4; ++p) {
    const uint8_t* codes = runs.codes + 64 * p;
    for (int c = 0; c < 32; ++c) block.q[32 * p + c] = static_cast<uint8_t>(codes[c] | codes[c + 32] << 4);
  }
}

}  // namespace parlance
