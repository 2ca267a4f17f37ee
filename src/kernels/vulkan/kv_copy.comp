// Copies the keys or values of positions from one sequence's pages to another's: one group for each copy of a head.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kHasWords = 1;  // rows are whole words; else they are multiples of two bytes

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer Copies { int copies[]; };  // (n, 4): from, to, first position, number
layout(binding = 1) readonly buffer PageTable { int page_table[]; };  // (n_seq, max_pages)
layout(binding = 2) buffer Pages { uint pages[]; };  // of one layer, as words
layout(push_constant) uniform Push {
  uint n;  // copies of all heads
  uint copies_first, table_first;
  uint n_head, max_pages, page_tokens;
  // In units of two bytes:
  uint page_halves;  // of a page
  uint first_half;   // of the keys or values of page 0
  uint row_halves;   // of one head vector
} push;

// In units of two bytes, of the sequence's row at the position.
uint row_at(uint seq, uint position, uint head) {
  const uint page = uint(page_table[push.table_first + seq * push.max_pages + position / push.page_tokens]);
  return push.first_half + page * push.page_halves +
         (head * push.page_tokens + position % push.page_tokens) * push.row_halves;
}

// Two bytes beside which another invocation may write.
void copy_half(uint from, uint to) {
  const uint bits = pages[from >> 1] >> (from & 1u) * 16 & 0xffffu;
  const uint shift = (to & 1u) * 16;
  atomicAnd(pages[to >> 1], ~(0xffffu << shift));
  atomicOr(pages[to >> 1], bits << shift);
}

void main() {
  const uint group = flat_group();
  if (group >= push.n) return;
  const uint head = group % push.n_head;
  const uint copy = push.copies_first + group / push.n_head * 4;
  const uint from = uint(copies[copy]), to = uint(copies[copy + 1]);
  const uint first = uint(copies[copy + 2]), n_positions = uint(copies[copy + 3]);
  const uint n_units = kHasWords != 0 ? push.row_halves / 2 : push.row_halves;
  for (uint i = gl_LocalInvocationID.x; i < n_positions * n_units; i += gl_WorkGroupSize.x) {
    const uint position = first + i / n_units, unit = i % n_units;
    const uint from_row = row_at(from, position, head), to_row = row_at(to, position, head);
    if (kHasWords != 0) {
      pages[to_row / 2 + unit] = pages[from_row / 2 + unit];
    } else {
      copy_half(from_row + unit, to_row + unit);
    }
  }
}
