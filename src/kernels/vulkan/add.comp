// x += y
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) readonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint n;  // elements
  uint x_first, y_first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i < push.n) x[push.x_first + i] += y[push.y_first + i];
}
