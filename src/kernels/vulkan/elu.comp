// exp(x) - 1 for what is below 0, in place.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "exp.glsl"

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform Push {
  uint n;  // elements
  uint x_first;
} push;

// Near 0 the difference to 1 would lose digits: Taylor's terms, which leave out less than 4e-9 of it.
float accurate_expm1(float v) {
  if (v < -0.35) return accurate_exp(v) - 1.0;
  float sum = 1.0 / 40320.0;
  sum = sum * v + 1.0 / 5040.0;
  sum = sum * v + 1.0 / 720.0;
  sum = sum * v + 1.0 / 120.0;
  sum = sum * v + 1.0 / 24.0;
  sum = sum * v + 1.0 / 6.0;
  sum = sum * v + 0.5;
  return v + v * (v * sum);
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const float value = x[push.x_first + i];
  if (value < 0) x[push.x_first + i] = accurate_expm1(value);
}
