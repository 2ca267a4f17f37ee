// The searches that k-quant encoders use to place the levels of one run of values. Without an importance
// matrix their results are defined by the format's specification to the last bit: sums are sequential, in
// f32.
#pragma once

#include <cstdint>

namespace parlance {

struct StepAndOffset {
  float step;
  float offset;  // not negative for a run that reaches 0: x is near step * code - offset
};

struct OffsetSearch {
  int n;                // values in a run
  int top;              // largest code
  float first_shift;    // trial t spreads the run over top + first_shift + 0.1 * t levels
  int n_trials;         // trials 0 .. n_trials, the last one included
  bool absolute_error;  // weigh |error| instead of its square
};

// Step and offset that make the weighted error of the run small, with codes in [0, top].
StepAndOffset search_step_and_offset(const OffsetSearch& search, const float* x, const float* weight,
                                     uint8_t* codes);

// Step for codes in [0, 2 * levels) around `levels` that makes the error of n values, weighted by x², small.
float search_signed_step(const float* x, int n, int levels, uint8_t* codes);

// The same aim by changing one code at a time, as Q3_K does.
float refine_signed_step(const float* x, int n, int levels, uint8_t* codes);

}  // namespace parlance
