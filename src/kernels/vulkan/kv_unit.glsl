// Units of a head vector in the plain formats of a cache: one element (f32), two elements (f16, bf16) or a block of 32
// (q8_0). For shaders that write `pages`, the words of a layer, and have the bits of a vector's values (value_bits()).
//
// Bytes are those of the scalar encoders on every driver. Their rules for rounding, division and small
// numbers differ, so all but one product is done with integers.
#include "kv_bits.glsl"
#include "kv_formats.glsl"

uint unit_elements(uint format) { return format == kF32 ? 1 : format == kQ8_0 ? 32 : 2; }

// Of the vector's values from number `from` on. Places are in units of two bytes.
void write_q8_0(uint from, uint at) {
  uint largest = 0;
  for (uint i = 0; i < 32; ++i) largest = max(largest, value_bits(from + i) & 0x7fffffffu);
  const uint d = q8_0_step(largest);
  const float inverse = q8_0_inverse(d);
  uint halves[17];
  halves[0] = f16_bits(d);
  for (uint i = 0; i < 16; ++i) {
    const uint low = q8_0_code(uintBitsToFloat(value_bits(from + 2 * i)), inverse);
    halves[1 + i] = low | q8_0_code(uintBitsToFloat(value_bits(from + 2 * i + 1)), inverse) << 8;
  }
  // Eight whole words, and a half word that the neighbour shares, in front or behind.
  const uint first = at & 1u;
  store_half(first == 1 ? at : at + 16, halves[first == 1 ? 0 : 16]);
  for (uint i = 0; i < 8; ++i) {
    pages[((at + first) >> 1) + i] = halves[first + 2 * i] | halves[first + 2 * i + 1] << 16;
  }
}

// Of a vector that starts `at`.
void write_unit(uint format, uint unit, uint head_dim, uint at) {
  if (format == kF32) {
    pages[(at >> 1) + unit] = value_bits(unit);
  } else if (format == kQ8_0) {
    write_q8_0(32 * unit, at + 17 * unit);
  } else {
    const uint element = 2 * unit;
    const uint a = value_bits(element);
    const uint first = format == kF16 ? f16_bits(a) : bf16_bits(a);
    const bool is_pair = element + 1 < head_dim;
    const uint b = is_pair ? value_bits(element + 1) : 0;
    const uint second = format == kF16 ? f16_bits(b) : bf16_bits(b);
    if (is_pair && (at & 1u) == 0) {
      pages[(at >> 1) + unit] = first | second << 16;
    } else {
      store_half(at + element, first);
      if (is_pair) store_half(at + element + 1, second);
    }
  }
}
