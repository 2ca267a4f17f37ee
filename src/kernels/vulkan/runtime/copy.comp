// Copies pieces of 16 bytes; the transfer commands of some drivers are several times slower than memory.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer From { uvec4 from[]; };
layout(binding = 1) writeonly buffer To { uvec4 to[]; };
layout(push_constant) uniform Push {
  uint n;  // pieces
  uint from_first, to_first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i < push.n) to[push.to_first + i] = from[push.from_first + i];
}
