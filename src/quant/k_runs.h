// What the encoders of Q4_K and Q5_K share: 256 values in 8 runs of 32, each with its own step and offset.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "quant/k_scales.h"

namespace parlance {

struct KRuns {
  f16_bits d;
  f16_bits dmin;
  KScales scales;
  uint8_t codes[256];  // in [0, top]
};

KRuns encode_k_runs(const float* x, int top, float first_shift, int n_trials);

}  // namespace parlance
