// The searches that k-quant encoders use to place the levels of runs of values. Without an importance matrix
// their results are defined by the format's specification to the last bit: sums are sequential, in f32.
//
// Four runs, one after the other in memory, are searched side by side: sums along a run must wait for every
// addition, but those of four runs fit one register.
#pragma once

#include <cstdint>

namespace parlance {

inline constexpr int kSearchRuns = 4;

// How Q2_K, Q3_K and Q6_K cut their 256 values.
inline constexpr int kGroups = 16;
inline constexpr int kGroupLength = 16;

struct StepAndOffset {
  float step;
  float offset;  // not negative for a run that reaches 0: x is near step * code - offset
};

struct OffsetSearch {
  int n;                // values in a run, up to 32
  int top;              // largest code
  float first_shift;    // trial t spreads the run over top + first_shift + 0.1 * t levels
  int n_trials;         // trials 0 .. n_trials, the last one included
  bool absolute_error;  // weigh |error| instead of its square
};

// For each of 4 runs: step and offset that make the weighted error small, with codes in [0, top].
// x, weight, codes: (4, n); found: (4).
void search_steps_and_offsets(const OffsetSearch& search, const float* x, const float* weight,
                              StepAndOffset* found, uint8_t* codes);

// For each of 4 runs of n values: step for codes in [0, 2 * levels) around `levels` that makes the error,
// weighted by x², small. x, codes: (4, n); step: (4).
void search_signed_steps(const float* x, int n, int levels, float* step, uint8_t* codes);

// The same aim for one run by changing one code at a time, as Q3_K does.
float refine_signed_step(const float* x, int n, int levels, uint8_t* codes);

}  // namespace parlance
