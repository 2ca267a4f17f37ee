// Brings keys or values of exact pages into main pages: a group for each head vector.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(binding = 0) readonly buffer Exact { uint exact[]; };  // pages of f16, as words
layout(binding = 1) readonly buffer Moves { int moves[]; };   // (n_moves, 2): exact page, main page
layout(binding = 4) buffer Pages { uint pages[]; };           // of one layer, as words
layout(binding = 5) readonly buffer Constants { float constants[]; };
layout(binding = 6) readonly buffer Projection { float projection[]; };  // (128, 256), of qjl1_256
layout(push_constant) uniform Push {
  uint n;  // head vectors
  uint moves_first;
  uint rows_of_page;  // head vectors
  // In units of two bytes:
  uint exact_page_halves, exact_first_half;
  uint page_halves, first_half;
  uint rotated_block;
  float root;
} push;

#include "kv_encode.glsl"
#include "grid.glsl"

void main() {
  const uint index = flat_group();
  if (index >= push.n) return;
  const uint move = push.moves_first + 2 * (index / push.rows_of_page), row = index % push.rows_of_page;
  const uint from =
      push.exact_first_half + uint(moves[move]) * push.exact_page_halves + row * kHeadDim;
  for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += kLanes) {
    const uint at = from + i;
    x[i] = f32_from_f16(exact[at >> 1] >> (at & 1u) * 16 & 0xffffu);
  }
  barrier();
  encode_row(push.first_half + uint(moves[move + 1]) * push.page_halves + row * kRowHalves,
             push.rotated_block, push.root);
}
