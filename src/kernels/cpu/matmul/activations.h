// How matmul sees activations when the weights are quantised: signed bytes and one f32 step for each run of
// 32 values of a row, x = step * code. Integer dot products with the weights' codes are then exact, and every
// instruction set computes the same integers.
#pragma once

#include <cmath>
#include <cstdint>

namespace parlance::matmul {

inline constexpr int64_t kRun = 32;  // values that share a step

// Runs whose largest magnitude is below this count as zero (the inverse of their step could overflow).
inline constexpr float kSmallestMagnitude = 1e-30f;

// Codes of one run, rounded to nearest even, -127..127; returns the step.
inline float quantise_run(const float* x, int8_t* codes) {
  float magnitude = 0;
  for (int64_t i = 0; i < kRun; ++i) magnitude = std::fmax(magnitude, std::fabs(x[i]));
  const bool tiny = magnitude < kSmallestMagnitude;
  const float inverse = tiny ? 0.0f : 127.0f / magnitude;
  for (int64_t i = 0; i < kRun; ++i) codes[i] = static_cast<int8_t>(std::lrint(x[i] * inverse));
  return tiny ? 0.0f : magnitude / 127.0f;
}

}  // namespace parlance::matmul
