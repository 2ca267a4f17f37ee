// The sketch of a query in bytes: a quarter of the memory, and sums with the signs of keys that are whole
// numbers. keys.
#pragma once

#include <array>
#include <cstdint>

#include "quant/sketch.h"

namespace parlance {

struct SketchInt8 {
  float scale;  // value j = scale * codes[j]
  std::array<int8_t, kSketchOutputs> codes;
};

// The nearest codes, of two as near the even one, in steps of a 127th of the largest value; of zeros, steps
// of 1.
SketchInt8 round_sketch(const float* sketch);

}  // namespace parlance
