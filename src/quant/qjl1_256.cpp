#include "quant/qjl1_256.h"

#include <cmath>

#include "quant/sketch.h"

namespace parlance {

void decode_stored(const BlockQjl1_256& block, float* y) {
  const float norm = f32_from_bf16(block.norm);
  for (int j = 0; j < kSketchOutputs; ++j) y[j] = (block.signs[j / 8] >> (j % 8)) & 1 ? norm : -norm;
}

void encode(const float* x, BlockQjl1_256& block) {
  float sketch[kSketchOutputs];
  project(x, sketch);
  for (int byte = 0; byte < 32; ++byte) {
    unsigned bits = 0;
    for (int bit = 0; bit < 8; ++bit) bits |= static_cast<unsigned>(sketch[8 * byte + bit] > 0) << bit;
    block.signs[byte] = static_cast<uint8_t>(bits);
  }
  float squares = 0;
  for (int i = 0; i < kSketchInputs; ++i) squares += x[i] * x[i];
  block.norm = bf16_from_f32(std::sqrt(squares));
}

}  // namespace parlance
