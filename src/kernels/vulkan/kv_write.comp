// Encodes keys or values in plain formats into the page that holds their position: one invocation per unit of a row
// (kv_unit.glsl).
// Other formats: kv_encode.comp.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kFormat = 1;  // kv_unit.glsl

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { uint x[]; };           // (n_tokens, n_head, head_dim), bits of floats
layout(binding = 1) readonly buffer Pos { int pos[]; };        // (n_tokens)
layout(binding = 2) readonly buffer Seq { int seq[]; };        // (n_tokens)
layout(binding = 3) readonly buffer PageTable { int page_table[]; };  // (n_seq, max_pages)
layout(binding = 4) buffer Pages { uint pages[]; };            // of one layer, as words
layout(push_constant) uniform Push {
  uint n;  // units of all heads and tokens
  uint x_first, pos_first, seq_first, table_first;
  uint n_head, head_dim, units_per_row;
  uint max_pages, page_tokens;
  // In units of two bytes:
  uint page_halves;  // of a page
  uint first_half;   // of the keys or values of page 0
  uint row_halves;   // of one head vector
} push;

uint first_value;  // of the row
uint value_bits(uint i) { return x[first_value + i]; }

#include "kv_unit.glsl"

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const uint unit = i % push.units_per_row;
  const uint row = i / push.units_per_row;
  const uint head = row % push.n_head;
  const uint token = row / push.n_head;

  const uint position = uint(pos[push.pos_first + token]);
  const uint slot = position % push.page_tokens;
  const uint entry = uint(seq[push.seq_first + token]) * push.max_pages + position / push.page_tokens;
  const uint page = uint(page_table[push.table_first + entry]);
  first_value = push.x_first + row * push.head_dim;
  const uint slot_of_page = head * push.page_tokens + slot;
  const uint at = push.first_half + page * push.page_halves + slot_of_page * push.row_halves;

  write_unit(kFormat, unit, push.head_dim, at);
}
