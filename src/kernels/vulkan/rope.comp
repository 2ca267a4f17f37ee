// (a, b) -> (a cos - b sin, a sin + b cos) for every pair of a head, in place.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) buffer X { float x[]; };             // (n_tokens, n_head, head_dim)
layout(binding = 1) readonly buffer Angles { float angles[]; };  // (n_tokens, 2, n_pairs): cos, then sin
layout(push_constant) uniform Push {
  uint n;  // pairs of all heads and tokens
  uint x_first, angles_first;
  uint head_dim, n_head, n_pairs;
  uint a_stride;  // from pair to pair
  uint b_offset;  // from a to b of a pair
} push;

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const uint pair = i % push.n_pairs;
  const uint head = i / push.n_pairs;  // of all tokens
  const uint token = head / push.n_head;
  const uint cosine_at = push.angles_first + token * 2 * push.n_pairs + pair;
  const float cosine = angles[cosine_at];
  const float sine = angles[cosine_at + push.n_pairs];
  const uint a_at = push.x_first + head * push.head_dim + pair * push.a_stride;
  const float a = x[a_at];
  const float b = x[a_at + push.b_offset];
  x[a_at] = a * cosine - b * sine;
  x[a_at + push.b_offset] = a * sine + b * cosine;
}
