// Rows of one tensor become channels of another.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer From { float from[]; };  // (n_places, n_from)
layout(binding = 1) writeonly buffer To { float to[]; };     // (n_places, n_channel)
layout(push_constant) uniform Push {
  uint n;  // values
  uint from_first, to_first;
  uint n_from, n_channel, first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  to[push.to_first + i / push.n_from * push.n_channel + push.first + i % push.n_from] =
      from[push.from_first + i];
}
