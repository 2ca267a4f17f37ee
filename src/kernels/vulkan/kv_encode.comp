// Encodes keys or values in compressed and rotated formats into the page that holds their position: a group for
// each head vector.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(binding = 0) readonly buffer X { float source[]; };            // (n_tokens, n_head, head_dim)
layout(binding = 1) readonly buffer Pos { int pos[]; };               // (n_tokens)
layout(binding = 2) readonly buffer Seq { int seq[]; };               // (n_tokens)
layout(binding = 3) readonly buffer PageTable { int page_table[]; };  // (n_seq, max_pages)
layout(binding = 4) buffer Pages { uint pages[]; };                   // of one layer, as words
layout(binding = 5) readonly buffer Constants { float constants[]; };
layout(binding = 6) readonly buffer Projection { float projection[]; };  // (128, 256), of qjl1_256
layout(push_constant) uniform Push {
  uint n;  // head vectors
  uint x_first, pos_first, seq_first, table_first;
  uint n_head;
  uint max_pages, page_tokens;
  // In units of two bytes:
  uint page_halves;  // of a page
  uint first_half;   // of the keys or values of page 0
  uint rotated_block;
  float root;  // what its Hadamard transform is multiplied with
} push;

#include "kv_encode.glsl"
#include "grid.glsl"

void main() {
  const uint row = flat_group();
  if (row >= push.n) return;
  const uint head = row % push.n_head, token = row / push.n_head;
  const uint position = uint(pos[push.pos_first + token]);
  const uint entry = uint(seq[push.seq_first + token]) * push.max_pages + position / push.page_tokens;
  const uint page = uint(page_table[push.table_first + entry]);
  const uint slot = head * push.page_tokens + position % push.page_tokens;
  for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += kLanes)
    x[i] = source[push.x_first + row * kHeadDim + i];
  barrier();
  encode_row(push.first_half + page * push.page_halves + slot * kRowHalves, push.rotated_block, push.root);
}
