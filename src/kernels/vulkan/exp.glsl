// The exponential to within two units in the last place; Vulkan lets drivers be off by 3 + 2 |x| units.
#include "finite.glsl"

// For x up to 88; below -87 it is that of -87, which is nothing beside 1. Of NaN it is NaN.
//
// exp(x) = 2^n exp(r) with |r| <= ln(2) / 2, where Taylor's terms up to r^7 leave out less than 6e-9.
float accurate_exp(float exponent) {
  const float kLog2E = 1.44269504;
  const float kLn2High = 0.693145752;  // few digits, so that n times it is exact
  const float kLn2Low = 1.42860677e-6;
  const float x = clamp(exponent, -87.0, 88.0);
  const float n = roundEven(x * kLog2E);
  precise const float r = (x - n * kLn2High) - n * kLn2Low;
  float sum = 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const float power = sum * uintBitsToFloat(uint(int(n) + 127) << 23);
  return magnitude_bits(exponent) > kInfinityBits ? exponent : power;
}

// Below -88 the exponential is beyond what every device divides by, and these are below 1e-36.
float sigmoid(float x) { return x < -88.0 ? 0.0 : 1.0 / (1.0 + accurate_exp(-x)); }
float silu(float x) { return x < -88.0 ? 0.0 : x / (1.0 + accurate_exp(-x)); }
