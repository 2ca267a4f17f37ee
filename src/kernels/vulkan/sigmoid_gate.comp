// x *= sigmoid(gate)
#version 450
#extension GL_GOOGLE_include_directive : require
#include "exp.glsl"

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) readonly buffer Gate { float gate[]; };
layout(push_constant) uniform Push {
  uint n;  // elements
  uint x_first, gate_first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i < push.n) x[push.x_first + i] *= sigmoid(gate[push.gate_first + i]);
}
