// Keys of the cache as floats, in every format, beside values. For attention.comp, which has the operands and the
// constants.
#include "kv_rows.glsl"

shared float k_levels[kKLevels];

void load_levels() {
  load_v_levels();
  for (uint i = gl_LocalInvocationID.x; i < n_levels(k_format()); i += kLanes)
    k_levels[i] = constants[first_level(k_format()) + i];
}

#ifndef PARLANCE_PLAIN_FORMATS

// Bits `at`.. of 64.
uint bits_from(uint low, uint high, uint at) {
  return at == 0 ? low : at < 32 ? low >> at | high << (32 - at) : high >> (at - 32);
}

// 16 stored dimensions of a key in blocks of codes, from number 16 * piece.
void load_compressed_k(uint format, uint row, uint piece, out vec4 k[4]) {
  switch (format) {
    case kQ4_0:
    case kTbq4: {
      const uint block = row + piece / 2 * 18, shift = piece % 2 * 4;
      const float step = f32_from_f16(half_at(block));
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        const uint codes = two_halves_at(block + 2 + 4 * i) >> shift;
        const uvec4 code = uvec4(codes, codes >> 8, codes >> 16, codes >> 24) & 15;
        k[i] = format == kQ4_0
                   ? step * (vec4(code) - 8)
                   : step * vec4(k_levels[code.x], k_levels[code.y], k_levels[code.z], k_levels[code.w]);
      }
      break;
    }
    case kTbq3:
    case kTcq: {
      const bool is_path = format == kTcq;
      const uint block = is_path ? row + piece / 8 * 52 : row + piece / 2 * 14;
      const uint at = block + 2 + (is_path ? piece % 8 : piece % 2) * 6;
      const uint low = two_halves_at(at), high = is_path ? two_halves_at(at + 4) : half_at(at + 4);
      const uint mask = is_path ? 511 : 7;
      const float step = f32_from_f16(half_at(block));
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        [[unroll]] for (uint j = 0; j < 4; ++j)
          k[i][j] = step * k_levels[bits_from(low, high, 3 * (4 * i + j)) & mask];
      }
      break;
    }
    case kQjl: {
      const uint block = row + piece / 16 * 34;
      const float norm = uintBitsToFloat(half_at(block + 32) << 16);
      const uint signs = half_at(block + piece % 16 * 2);
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        const bvec4 is_positive = notEqual(uvec4(signs >> (4 * i)) & uvec4(1, 2, 4, 8), uvec4(0));
        k[i] = mix(vec4(-norm), vec4(norm), is_positive);
      }
      break;
    }
    default: {
      const uint block = row + piece / 8 * 82, first = piece % 8 * 16;
      const float norm = f32_from_f16(half_at(block));
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        const uint codes = half_at(block + 2 + first / 2 + 2 * i);
        vec4 levels = vec4(k_levels[codes & 15], k_levels[codes >> 4 & 15], k_levels[codes >> 8 & 15],
                           k_levels[codes >> 12]);
        if (format == kPolarResidual) {
          const uint at = first + 4 * i;
          levels += residual_step(block) * vec4(residual_signs[at], residual_signs[at + 1],
                                                residual_signs[at + 2], residual_signs[at + 3]);
        }
        k[i] = norm * levels;
      }
    }
  }
}

#endif

// 16 stored dimensions of a key from number 16 * piece, as far as it has them.
void load_k(uint row, uint piece, out vec4 k[4]) {
  const uint format = k_format();
#ifndef PARLANCE_PLAIN_FORMATS
  if (format > kQ8_0) {
    load_compressed_k(format, row, piece, k);
    return;
  }
#endif
  if (format == kQ8_0) {
    const uint block = row + piece / 2 * 34;
    const float step = f32_from_f16(half_at(block));
    const uint first = block + 2 + 16 * (piece % 2);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      const int codes = int(two_halves_at(first + 4 * i));
      k[i] = step * vec4(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8),
                         bitfieldExtract(codes, 16, 8), bitfieldExtract(codes, 24, 8));
    }
  } else if (!kWholeQuads) {
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      for (uint j = 0; j < 4; ++j) {
        const uint dimension = 16 * piece + 4 * i + j;
        k[i][j] = dimension < push.head_dim_k ? load_float(format, row, dimension) : 0;
      }
    }
  } else if (format == kF32) {
    [[unroll]] for (uint i = 0; i < 4; ++i) k[i] = uintBitsToFloat(kv_quads[row / 16 + 4 * piece + i]);
  } else {
    [[unroll]] for (uint i = 0; i < 2; ++i) {
      const uvec4 pairs = kv_quads[row / 16 + 2 * piece + i];
      if (format == kF16) {
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
