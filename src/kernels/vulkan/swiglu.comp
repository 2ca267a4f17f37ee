// out = silu(gate) * up
#version 450
#extension GL_GOOGLE_include_directive : require
#include "exp.glsl"

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer Gate { float gate[]; };
layout(binding = 1) readonly buffer Up { float up[]; };
layout(binding = 2) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements
  uint gate_first, up_first, out_first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  result[push.out_first + i] = silu(gate[push.gate_first + i]) * up[push.up_first + i];
}
