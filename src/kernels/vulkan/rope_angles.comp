// cos and sin of position times frequency. The product reaches 10^6 radians and is wanted to 10^-6, beyond
// f32; doubles are optional in Vulkan. So the turns of a circle are counted in fixed point, where whole
// turns fall off the top of the word.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const bool kHasSections = false;  // a pair takes one of a token's positions
#include "grid.glsl"
layout(binding = 0) readonly buffer Pos { uint pos[]; };           // (n_tokens, n_pos)
layout(binding = 1) readonly buffer Inverse { float inverse[]; };  // (2, n_pairs): high parts, low parts
layout(binding = 2) writeonly buffer Out { float result[]; };      // (n_tokens, 2, n_pairs): cos, then sin
layout(binding = 3) readonly buffer Section { uint section[]; };   // (n_pairs), with kHasSections
layout(push_constant) uniform Push {
  uint n;  // pairs of all tokens
  uint pos_first, inverse_first, out_first;
  uint n_pairs;
  float magnitude;
  uint section_first, n_pos;
} push;

// 64-bit integers as (low word, high word). A Fixed has 56 bits behind the point.
#define Fixed uvec2
const uint kFractionBits = 56;

Fixed negate(Fixed a) { return uvec2(~a.x + 1, ~a.y + (a.x == 0 ? 1 : 0)); }

Fixed add(Fixed a, Fixed b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}

// Magnitudes below 2^7; digits after the last place are cut off.
Fixed fixed_of(float value) {
  const uint bits = floatBitsToUint(value);
  const int exponent = int(bits >> 23 & 255u);
  const uint mantissa = exponent == 0 ? 0 : (bits & 0x7fffffu) | 0x800000u;
  const int shift = exponent - 150 + int(kFractionBits);
  uvec2 magnitude = uvec2(0);
  if (shift >= 32) {
    magnitude.y = mantissa << (shift - 32);
  } else if (shift > 0) {
    magnitude = uvec2(mantissa << shift, mantissa >> (32 - shift));
  } else if (shift > -24) {
    magnitude.x = mantissa >> -shift;
  }
  return (bits >> 31) != 0 ? negate(magnitude) : magnitude;
}

// a / (2 pi)
Fixed turns_of_radians(Fixed a) {
  const uvec2 kInverseTwoPi = uvec2(0x9391054au, 0x28be60dbu);  // times 2^64
  uint high, low, top, rest;
  umulExtended(a.y, kInverseTwoPi.y, top, rest);
  Fixed product = uvec2(rest, top);
  umulExtended(a.y, kInverseTwoPi.x, high, low);
  product = add(product, uvec2(high, 0));
  umulExtended(a.x, kInverseTwoPi.y, high, low);
  return add(product, uvec2(high, 0));
}

// The fraction of `turns` times `count`, in units of 2^-32.
uint fraction_of_product(Fixed turns, uint count) {
  uint high, low;
  umulExtended(turns.x, count, high, low);
  high += turns.y * count;
  return high << 8 | low >> 24;
}

// Taylor's terms: what they leave out is below 2e-9 for |x| <= pi / 4.
float sine(float x) {
  const float y = x * x;
  return x + x * y * (-1.0 / 6.0 + y * (1.0 / 120.0 + y * (-1.0 / 5040.0 + y * (1.0 / 362880.0))));
}
float cosine(float x) {
  const float y = x * x;
  const float rest = 1.0 / 24.0 + y * (-1.0 / 720.0 + y * (1.0 / 40320.0 + y * (-1.0 / 3628800.0)));
  return 1.0 + y * (-0.5 + y * rest);
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const uint pair = i % push.n_pairs;
  const uint token = i / push.n_pairs;
  const Fixed high = fixed_of(inverse[push.inverse_first + pair]);
  const Fixed low = fixed_of(inverse[push.inverse_first + push.n_pairs + pair]);
  const uint which = kHasSections ? section[push.section_first + pair] : 0;
  const uint turn =
      fraction_of_product(turns_of_radians(add(high, low)), pos[push.pos_first + token * push.n_pos + which]);

  // The nearest quarter of a turn, and the angle from there.
  const uint quarter = (turn + 0x20000000u) >> 30;
  const float kRadiansPerUnit = 1.46291808e-9;  // 2 pi / 2^32
  const float angle = float(int(turn - (quarter << 30))) * kRadiansPerUnit;
  const float c = cosine(angle);
  const float s = sine(angle);
  const bool is_odd = (quarter & 1u) != 0;
  const float x = is_odd ? -s : c;
  const float y = is_odd ? c : s;
  const float sign = (quarter & 2u) != 0 ? -push.magnitude : push.magnitude;
  const uint at = push.out_first + token * 2 * push.n_pairs + pair;
  result[at] = sign * x;
  result[at + push.n_pairs] = sign * y;
}
