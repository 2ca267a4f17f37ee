// Heads that hold a query and its gate, one behind the other, as two tensors: an invocation for each element
// of a half.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { float x[]; };  // (2 head_dim, ...)
layout(binding = 1) writeonly buffer Q { float q[]; };  // (head_dim, ...)
layout(binding = 2) writeonly buffer Gate { float gate[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of q
  uint head_dim;
  uint x_first, q_first, gate_first;
} push;

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const uint query = push.x_first + i / push.head_dim * 2 * push.head_dim + i % push.head_dim;
  q[push.q_first + i] = x[query];
  gate[push.gate_first + i] = x[query + push.head_dim];
}
