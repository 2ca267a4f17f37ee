// Quotients and roots to the nearest float, which Vulkan leaves to drivers: what they answer is corrected by
// its residual, computed without rounding (fma() need not be fused).

#include "finite.glsl"

// The upper 12 bits of a float's mantissa; the rest is exact too, and so are products of such parts.
float upper_part(float value) { return uintBitsToFloat(floatBitsToUint(value) & 0xfffff000); }

bool is_ordinary(float value) { return value != 0 && is_finite(value); }

float divided(float a, float b) {
  precise const float quotient = a / b;
  if (!is_ordinary(quotient) || !is_ordinary(b)) return quotient;
  const float q = upper_part(quotient);
  const float m = upper_part(b);
  precise const float q_rest = quotient - q;
  precise const float m_rest = b - m;
  precise const float residual = (((a - q * m) - q * m_rest) - q_rest * m) - q_rest * m_rest;
  precise const float corrected = quotient + residual / b;
  return corrected;
}

// Of high + low, where low is what high leaves of a sum.
float root(float high, float low) {
  precise const float s = sqrt(high);
  if (!is_ordinary(s)) return s;
  const float h = upper_part(s);
  precise const float rest = s - h;
  precise const float residual = (((high - h * h) - 2.0 * (h * rest)) - rest * rest) + low;
  precise const float corrected = s + residual / (2.0 * s);
  return corrected;
}
