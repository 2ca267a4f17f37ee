// What the formats with 32 values in a block share: where codes lie, and the extremes that set their steps
// (these serve the larger blocks too).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace parlance {

// Runs of 32 values in a block of 256.
inline constexpr int kRuns = 8;

// Code of value i (below 32) of nibbles where byte j holds values j (low) and j + 16 (high).
inline int nibble(const uint8_t* q, int i) {
  return (q[i % 16] >> (4 * (i / 16))) & 15;
}

// Writes the low four bits of 32 codes in that order.
inline void pack_nibbles(const uint8_t* codes, uint8_t* q) {
  for (int j = 0; j < 16; ++j) q[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

// Bit 4 of 32 codes; bit i of the result belongs to value i.
inline uint32_t pack_fifth_bits(const uint8_t* codes) {
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<uint32_t>((codes[i] >> 4) & 1) << i;
  return bits;
}

// What searches of a step take for zero: below this x² loses its digits.
inline constexpr float kNegligible = 1e-15f;

// Steps of blocks that hold NaN or an infinity are NaN: what is decoded shows it.
inline float step_or_nan(float step, const float* x, int n) {
  uint32_t n_damaged = 0;
  for (int i = 0; i < n; ++i) n_damaged += (std::bit_cast<uint32_t>(x[i]) & 0x7f800000) == 0x7f800000;
  return n_damaged == 0 ? step : std::numeric_limits<float>::quiet_NaN();
}

// The first of n values that has the largest magnitude, with its sign; 0 when all are zero or NaN.
inline float largest_magnitude(const float* x, int n) {
  float largest = 0;
  float magnitude = 0;  // kept apart: from fabs(largest), clang 19 at -O2 makes code that returns others
  for (int i = 0; i < n; ++i) {
    if (!(std::fabs(x[i]) > magnitude)) continue;
    largest = x[i];
    magnitude = std::fabs(x[i]);
  }
  return largest;
}

struct Range {
  float lowest;
  float highest;
};

// Of equal values (0 and -0 are) the first one counts.
inline Range range_of(const float* x, int n) {
  Range range{x[0], x[0]};
  for (int i = 1; i < n; ++i) {
    range.lowest = x[i] < range.lowest ? x[i] : range.lowest;
    range.highest = x[i] > range.highest ? x[i] : range.highest;
  }
  return range;
}

}  // namespace parlance
