// Bits of floats as caches store them, with integers alone: drivers' rules for rounding and small numbers
// differ. For shaders that write `pages`, the words of a layer.
#include "finite.glsl"

// Writes two bytes beside which another invocation may write.
void store_half(uint at, uint bits) {
  const uint shift = (at & 1u) * 16;
  atomicAnd(pages[at >> 1], ~(0xffffu << shift));
  atomicOr(pages[at >> 1], bits << shift);
}

// The functions of base/half.h: nearest, ties to even, subnormals kept.
uint bf16_bits(uint bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 64;
  return (bits + (0x7fffu + (bits >> 16 & 1u))) >> 16;
}

uint f16_bits(uint bits) {
  const uint sign = bits >> 16 & 0x8000u;
  const uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | (magnitude >> 13 & 0x3ffu);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude >= 0x38800000u) {
    return sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  if (magnitude < 0x33000000u) return sign;  // below half of the smallest subnormal
  const uint mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint shift = 126 - (magnitude >> 23);  // to units of 2^-24
  return sign | (mantissa + ((1u << (shift - 1)) - 1) + (mantissa >> shift & 1u)) >> shift;
}

// a / b, both positive and normal, to the nearest float; 0 when that is below the normal ones (such
// a step is 0 in f16 anyway).
uint divide(uint a, uint b) {
  uint rest = (a & 0x7fffffu) | 0x800000u;
  const uint divisor = (b & 0x7fffffu) | 0x800000u;
  int exponent = int(a >> 23) - int(b >> 23) + 127;
  if (rest < divisor) {
    rest <<= 1;
    --exponent;
  }
  if (exponent <= 0) return 0;
  uint quotient = 0;
  for (int i = 0; i < 24; ++i) {
    quotient <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      quotient |= 1;
    }
    rest <<= 1;
  }
  if (rest > divisor) ++quotient;  // a quotient of two floats never lies halfway between two
  return (uint(exponent) << 23) + (quotient - 0x800000u);
}

// The step of a block of q8_0 whose largest magnitude has these bits, NaN where that is no number; and its inverse.
uint q8_0_step(uint largest) {
  if (largest >= kInfinityBits) return kNanBits;
  return largest < 0x800000u ? 0 : divide(largest, 0x42fe0000u);
}
float q8_0_inverse(uint step) { return step == 0 ? 0.0 : uintBitsToFloat(divide(0x3f800000u, step)); }

uint q8_0_code(float value, float inverse) {
  // Adding the float below one half and cutting off rounds halves away from zero.
  precise const float scaled = value * inverse;
  precise const float moved = abs(scaled) + 0.49999997;
  const int code = int(moved);
  return uint((scaled < 0.0 ? -code : code) & 255);
}
