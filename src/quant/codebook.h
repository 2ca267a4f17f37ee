// Codebooks of the cache formats, their one home, and how a value finds its code in one.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace parlance {

// Lloyd-Max levels of a normal distribution: tbq3_0, and tbq4_0.
inline constexpr std::array<float, 8> kCentroids3 = {-2.1519457f, -1.3439093f, -0.7560053f, -0.2450942f,
                                                     0.2450942f,  0.7560053f,  1.3439093f,  2.1519457f};
inline constexpr std::array<float, 16> kCentroids4 = {
    -2.7321365f, -2.0685055f, -1.6175243f, -1.2557391f, -0.9419147f, -0.6564307f, -0.3878412f, -0.1283243f,
    0.1283243f,  0.3878412f,  0.6564307f,  0.9419147f,  1.2557391f,  1.6175243f,  2.0685055f,  2.7321365f};

// q4_polar's, and the boundaries between them; the middle one is not quite zero.
inline constexpr std::array<float, 16> kPolarCentroids = {
    -2.754354807f,  -2.093562707f,  -1.643041510f, -1.279739752f, -0.9626409783f, -0.6723921169f,
    -0.3978971029f, -0.1317577823f, 0.1317577823f, 0.3978971029f, 0.6723921169f,  0.9626409783f,
    1.279739752f,   1.643041510f,   2.093562707f,  2.754354807f};
inline constexpr std::array<float, 15> kPolarBoundaries = {
    -2.423958757f,  -1.868302108f,  -1.461390631f,    -1.121190365f, -0.8175165476f,
    -0.5351446099f, -0.2648274426f, 4.996003611e-16f, 0.2648274426f, 0.5351446099f,
    0.8175165476f,  1.121190365f,   1.461390631f,     1.868302108f,  2.423958757f};

// The code of the centroid nearest to v; of two as near, the lower one.
template <size_t n>
uint8_t nearest_code(const std::array<float, n>& centroids, float v) {
  if (v >= centroids[n - 1]) return n - 1;
  size_t low = 0;
  while (low + 1 < n && centroids[low + 1] <= v) ++low;
  if (low + 1 == n || v <= centroids[0]) return static_cast<uint8_t>(low);
  return static_cast<uint8_t>(v - centroids[low] <= centroids[low + 1] - v ? low : low + 1);
}

// How many boundaries lie strictly below v.
template <size_t n>
uint8_t boundaries_below(const std::array<float, n>& boundaries, float v) {
  uint8_t code = 0;
  for (const float boundary : boundaries) code = static_cast<uint8_t>(code + (boundary < v));
  return code;
}

inline float root_mean_square(const float* y, int n) {
  float squares = 0;
  for (int i = 0; i < n; ++i) squares += y[i] * y[i];
  return std::sqrt(squares / static_cast<float>(n));
}

// Steps to be tried around the root mean square, which is best for a gaussian block and seldom for a given
// one: its share of values beyond the last centroid varies.
inline constexpr int kStepCandidates = 15;
inline constexpr float kLeastStep = 0.65f;
inline constexpr float kStepIncrement = 0.05f;

// The step d, as f16, with which d * centroid comes closest to the n values y: for each candidate the codes
// are chosen, and for the codes that leave the least error the step that fits them best.
template <size_t n_codes>
f16_bits search_step(const std::array<float, n_codes>& centroids, const float* y, int n) {
  const float rms = root_mean_square(y, n);
  float best_gain = 0, best_step = rms;
  for (int candidate = 0; candidate < kStepCandidates; ++candidate) {
    const float step = rms * (kLeastStep + kStepIncrement * static_cast<float>(candidate));
    if (!(step > 0)) break;
    float product = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const float c = centroids[nearest_code(centroids, y[i] / step)];
      product += y[i] * c;
      squares += c * c;
    }
    const float gain = product * product / squares;  // what is left of sum y^2 is the error
    if (product > 0 && gain > best_gain) {
      best_gain = gain;
      best_step = product / squares;
    }
  }
  return f16_from_f32(best_step);
}

}  // namespace parlance
