// Encodes keys or values in plain formats into the page that holds their position: one invocation per unit of a row, which
// is one element (f32), two elements (f16, bf16) or a block of 32 (q8_0).
//
// Bytes are those of the scalar encoders on every driver. Their rules for rounding, division and small
// numbers differ, so all but one product is done with integers. Other formats: kv_encode.comp.
#version 450
#extension GL_GOOGLE_include_directive : require

const uint kF32 = 0, kF16 = 1, kBf16 = 2, kQ8_0 = 3;  // in the order of KvFormat
layout(constant_id = 0) const uint kFormat = kF16;

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

#include "kv_bits.glsl"

void write_q8_0(uint from, uint at) {
  uint largest = 0;
  for (uint i = 0; i < 32; ++i) largest = max(largest, x[from + i] & 0x7fffffffu);
  const uint d = q8_0_step(largest);
  const float inverse = q8_0_inverse(d);
  uint halves[17];
  halves[0] = f16_bits(d);
  for (uint i = 0; i < 16; ++i) {
    const uint low = q8_0_code(uintBitsToFloat(x[from + 2 * i]), inverse);
    halves[1 + i] = low | q8_0_code(uintBitsToFloat(x[from + 2 * i + 1]), inverse) << 8;
  }
  // Eight whole words, and a half word that the neighbour shares, in front or behind.
  const uint first = at & 1u;
  store_half(first == 1 ? at : at + 16, halves[first == 1 ? 0 : 16]);
  for (uint i = 0; i < 8; ++i) {
    pages[((at + first) >> 1) + i] = halves[first + 2 * i] | halves[first + 2 * i + 1] << 16;
  }
}

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
  const uint from = push.x_first + row * push.head_dim;
  const uint slot_of_page = head * push.page_tokens + slot;
  const uint at = push.first_half + page * push.page_halves + slot_of_page * push.row_halves;

  if (kFormat == kF32) {
    pages[(at >> 1) + unit] = x[from + unit];
  } else if (kFormat == kQ8_0) {
    write_q8_0(from + 32 * unit, at + 17 * unit);
  } else {
    const uint element = 2 * unit;
    const uint a = x[from + element];
    const uint first = kFormat == kF16 ? f16_bits(a) : bf16_bits(a);
    const bool is_pair = element + 1 < push.head_dim;
    const uint b = is_pair ? x[from + element + 1] : 0;
    const uint second = kFormat == kF16 ? f16_bits(b) : bf16_bits(b);
    if (is_pair && (at & 1u) == 0) {
      pages[(at >> 1) + unit] = first | second << 16;
    } else {
      store_half(at + element, first);
      if (is_pair) store_half(at + element + 1, second);
    }
  }
}
