// q4_polar: 128 values divided by their length, rotated by a Hadamard transform, and rounded to 16 Lloyd-Max
// levels. One more bit says on which side of a fixed direction the rounding error lies. Stored values are
// those after the rotation: y = l2 * centroid, in which a unit vector has a mean square of 1; with the
// residual, half a step along the direction is added.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockQ4Polar {
  static constexpr int64_t kElements = 128;
  static constexpr int64_t kStored = 128;
  f16_bits l2;
  uint8_t codes[64];     // byte j: value 2 j in the low, value 2 j + 1 in the high nibble
  uint8_t residual[16];  // bit 0 of the first byte; the rest is 0
};
static_assert(sizeof(BlockQ4Polar) == 82);

inline constexpr float kPolarResidualStep = 0.0441941738f;  // 0.5 / sqrt(128)

void decode_stored(const BlockQ4Polar& block, float* y);
void encode(const float* x, BlockQ4Polar& block);

// The same bytes, decoded with their residual bit.
struct [[gnu::packed]] BlockQ4PolarResidual : BlockQ4Polar {};
static_assert(sizeof(BlockQ4PolarResidual) == 82);

void decode_stored(const BlockQ4PolarResidual& block, float* y);

// With the length that leaves the least error for the codes.
void encode_searched(const float* x, BlockQ4Polar& block);

}  // namespace parlance
