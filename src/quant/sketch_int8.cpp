#include "quant/sketch_int8.h"

#include <algorithm>
#include <cmath>

namespace parlance {

SketchInt8 round_sketch(const float* sketch) {
  constexpr float kMost = 127;
  float largest = 0;
  for (int64_t j = 0; j < kSketchOutputs; ++j) largest = std::max(largest, std::fabs(sketch[j]));
  SketchInt8 rounded;
  rounded.scale = largest > 0 ? largest / kMost : 1;
  const float inverse = 1 / rounded.scale;
  for (size_t j = 0; j < rounded.codes.size(); ++j) {
    rounded.codes[j] = static_cast<int8_t>(std::clamp(std::nearbyint(sketch[j] * inverse), -kMost, kMost));
  }
  return rounded;
}

}  // namespace parlance
