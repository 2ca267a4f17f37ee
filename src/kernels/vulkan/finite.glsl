// What is NaN or infinite, told by its bits: of floats, drivers may take it that there is none, and the larger of NaN and
// another is either.
#ifndef PARLANCE_FINITE
#define PARLANCE_FINITE

const uint kInfinityBits = 0x7f800000u, kNanBits = 0x7fc00000u;

// Magnitudes are ordered as their bits are, with NaN above all numbers.
uint magnitude_bits(float value) { return floatBitsToUint(value) & 0x7fffffffu; }
uvec4 magnitude_bits(vec4 values) { return floatBitsToUint(values) & 0x7fffffffu; }

bool is_finite(float value) { return magnitude_bits(value) < kInfinityBits; }
float finite_or_nan(float value) {
  return uintBitsToFloat(is_finite(value) ? floatBitsToUint(value) : kNanBits);
}

#endif
