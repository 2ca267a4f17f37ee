// Rows of the cache as pairs of floats, in every format. For shaders that have kv_words, constants and v_format(),
// and the specialization constants kVLevels, kHasResidual and kWholeQuads.
#include "halves.glsl"

uint half_at(uint at) { return (kv_words[at >> 2] >> (8 * (at & 2))) & 0xffff; }
uint two_halves_at(uint at) { return half_at(at) | half_at(at + 2) << 16; }

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

// Levels of a compressed format, and the signs of a residual.
shared float v_levels[kVLevels];
shared float residual_signs[kHasResidual ? 128 : 1];

void load_v_levels() {
  for (uint i = gl_LocalInvocationID.x; i < n_levels(v_format()); i += kLanes)
    v_levels[i] = constants[first_level(v_format()) + i];
  for (uint i = gl_LocalInvocationID.x; kHasResidual && i < 128; i += kLanes)
    residual_signs[i] = constants[kResidualSignsAt + i];
}

// What a residual adds to the levels of a block, but for signs.
float residual_step(uint block) { return (half_at(block + 66) & 1) != 0 ? kPolarResidualStep : -kPolarResidualStep; }

// Dimensions 2 * pair.. of the stored value whose row starts at byte `row`.
vec2 load_v(uint row, uint pair) {
  const uint format = v_format();
  switch (format) {
    case kQ8_0: {
      const uint block = row + pair / 16 * 34;
      const int codes = int(half_at(block + 2 + 2 * (pair % 16)));
      return f32_from_f16(half_at(block)) * vec2(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8));
    }
#ifndef PARLANCE_PLAIN_FORMATS
    case kQ4_0:
    case kTbq4: {
      const uint block = row + pair / 16 * 18;
      const uint codes = half_at(block + 2 + 2 * (pair % 8)) >> (pair % 16 / 8 * 4);
      const float step = f32_from_f16(half_at(block));
      const uint a = codes & 15, b = codes >> 8 & 15;
      if (format == kQ4_0) return step * (vec2(a, b) - 8);
      return step * vec2(v_levels[a], v_levels[b]);
    }
    case kTbq3: {
      const uint block = row + pair / 16 * 14;
      const uint bit = 6 * (pair % 16), at = block + 2 + bit / 16 * 2;
      const uint bits = half_at(at) | (bit % 16 > 10 ? half_at(at + 2) << 16 : 0);
      const uint codes = bits >> (bit % 16);
      return f32_from_f16(half_at(block)) * vec2(v_levels[codes & 7], v_levels[codes >> 3 & 7]);
    }
    case kTcq: {
      const uint block = row + pair / 64 * 52;
      const uint bit = 6 * (pair % 64);
      const uint states = two_halves_at(block + 2 + bit / 16 * 2) >> (bit % 16);
      return f32_from_f16(half_at(block)) * vec2(v_levels[states & 511], v_levels[states >> 3 & 511]);
    }
    case kQjl: {
      const uint block = row + pair / 128 * 34;
      const float norm = uintBitsToFloat(half_at(block + 32) << 16);
      const uint signs = half_at(block + pair % 128 / 8 * 2) >> (pair % 8 * 2);
      return vec2((signs & 1) != 0 ? norm : -norm, (signs & 2) != 0 ? norm : -norm);
    }
    case kPolar:
    case kPolarResidual: {
      const uint block = row + pair / 64 * 82, i = pair % 64;
      const uint codes = half_at(block + 2 + (i & ~1u)) >> (8 * (i & 1));
      vec2 levels = vec2(v_levels[codes & 15], v_levels[codes >> 4 & 15]);
      if (format == kPolarResidual)
        levels += residual_step(block) * vec2(residual_signs[2 * i], residual_signs[2 * i + 1]);
      return f32_from_f16(half_at(block)) * levels;
    }
#endif
  }
  return load_pair_of_floats(format, row, pair);
}
