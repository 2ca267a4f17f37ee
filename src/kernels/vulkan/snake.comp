// x + sin(alpha x)^2 / (alpha + 1e-9), in place, by the approximation of kernels/cpu/snake.simd.h: Vulkan's sin()
// is off by 2^-11.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) buffer X { float x[]; };  // (n, n_channel)
layout(binding = 1) readonly buffer Alpha { float alpha[]; };
layout(push_constant) uniform Push {
  uint n;  // elements
  uint n_channel;
  uint x_first, alpha_first;
} push;

// The parts of pi have few digits, so that their products with a number of half turns are exact.
const float kPiHigh = 3.140625, kPiMiddle = 0.0009675025939941406, kPiLow = 1.5099580252808664e-07;

float sine_squared(float y) {
  const float n = roundEven(y * 0.31830989);
  precise const float r = ((y - n * kPiHigh) - n * kPiMiddle) - n * kPiLow;
  const float square = r * r;
  float p = 2.6051076348701538e-06;
  p = p * square - 0.00019809017408449952;
  p = p * square + 0.00833305017066818;
  p = p * square - 0.1666665794784582;
  p = p * square + 0.9999999956988088;
  const float sine = r * p;
  return sine * sine;
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const float a = alpha[push.alpha_first + i % push.n_channel];
  const float value = x[push.x_first + i];
  precise const float angle = a * value;
  x[push.x_first + i] = value + sine_squared(angle) / (a + 1e-9);
}
