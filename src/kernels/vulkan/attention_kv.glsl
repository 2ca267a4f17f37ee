// Rows of the cache as floats, in every format. For attention.comp, which has the operands and the constants.
#include "halves.glsl"

uint half_at(uint at) { return (kv_words[at >> 2] >> (8 * (at & 2))) & 0xffff; }

float load_float(uint format, uint row, uint i) {
  switch (format) {
    case kF16: return f32_from_f16(half_at(row + 2 * i));
    case kBf16: return uintBitsToFloat(half_at(row + 2 * i) << 16);
  }
  return uintBitsToFloat(kv_words[row / 4 + i]);
}

vec2 load_pair_of_floats(uint format, uint row, uint pair) {
  if (!kWholeQuads) {
    return vec2(load_float(format, row, 2 * pair),
                2 * pair + 1 < push.head_dim_v ? load_float(format, row, 2 * pair + 1) : 0);
  }
  const uint word = kv_words[row / 4 + pair];
  switch (format) {
    case kF16: return unpackHalf2x16(word);
    case kBf16: return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000));
  }
  return uintBitsToFloat(uvec2(kv_words[row / 4 + 2 * pair], kv_words[row / 4 + 2 * pair + 1]));
}

// Dimensions 2 * pair.. of the value whose row starts at byte `row`.
vec2 load_v(uint row, uint pair) {
  if (kVFormat != kQ8_0) return load_pair_of_floats(kVFormat, row, pair);
  const uint block = row + pair / 16 * 34;
  const int codes = int(half_at(block + 2 + 2 * (pair % 16)));
  return f32_from_f16(half_at(block)) * vec2(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8));
}

// 16 dimensions of a key from number 16 * piece, as far as it has them.
void load_k(uint row, uint piece, out vec4 k[4]) {
  if (kKFormat == kQ8_0) {
    const uint block = row + piece / 2 * 34;
    const float step = f32_from_f16(half_at(block));
    const uint first = block + 2 + 16 * (piece % 2);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      const int codes = int(half_at(first + 4 * i) | half_at(first + 4 * i + 2) << 16);
      k[i] = step * vec4(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8),
                         bitfieldExtract(codes, 16, 8), bitfieldExtract(codes, 24, 8));
    }
  } else if (!kWholeQuads) {
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      for (uint j = 0; j < 4; ++j) {
        const uint dimension = 16 * piece + 4 * i + j;
        k[i][j] = dimension < push.head_dim_k ? load_float(kKFormat, row, dimension) : 0;
      }
    }
  } else if (kKFormat == kF32) {
    [[unroll]] for (uint i = 0; i < 4; ++i) k[i] = uintBitsToFloat(kv_quads[row / 16 + 4 * piece + i]);
  } else {
    [[unroll]] for (uint i = 0; i < 2; ++i) {
      const uvec4 pairs = kv_quads[row / 16 + 2 * piece + i];
      if (kKFormat == kF16) {
        k[2 * i] = vec4(unpackHalf2x16(pairs.x), unpackHalf2x16(pairs.y));
        k[2 * i + 1] = vec4(unpackHalf2x16(pairs.z), unpackHalf2x16(pairs.w));
      } else {
        k[2 * i] =
            uintBitsToFloat(uvec4(pairs.x << 16, pairs.x & 0xffff0000, pairs.y << 16, pairs.y & 0xffff0000));
        k[2 * i + 1] =
            uintBitsToFloat(uvec4(pairs.z << 16, pairs.z & 0xffff0000, pairs.w << 16, pairs.w & 0xffff0000));
      }
    }
  }
}
