// x (1 + erf(x / sqrt(2))) / 2, in place, by the approximation of kernels/cpu/gelu.simd.h.
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

const float kStep = 0.3, kMiddle = 0.66778524;
const float kTerms[9] = float[9](0.44545858558, 0.92010031175, 1.46113229923, 1.76992252943, 1.56544248777,
                                 0.88233914696, 0.13905005372, -0.20628421425, -0.12404936830);

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const float value = x[push.x_first + i];
  const float size = abs(value);
  // Beyond, the tail is zero beside anything; squares stay finite.
  const float z = min(size, 20.0) * 0.70710678;
  const float t = 1.0 / (z * kStep + 1.0);
  const float u = t - kMiddle;
  float p = kTerms[8];
  for (int term = 7; term >= 0; --term) p = p * u + kTerms[term];
  const float half_tail = size > 13.0 ? 0.0 : 0.5 * ((t * p) * accurate_exp(-z * z));
  x[push.x_first + i] = max(value, 0.0) - size * half_tail;
}
