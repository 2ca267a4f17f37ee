// Weights of every type: rows of floats, or runs of 32 integer codes with their steps and minimums. The bytes
// of a block are defined in quant/<type>.h. For the shader that includes this: the type is a constant of its
// pipeline (weights.h gives the values), so that the choices below cost nothing.
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 0) const uint kType = 0;
layout(constant_id = 1) const uint kBlockBytes = 4;
layout(constant_id = 2) const uint kBlockElements = 1;
// Whether floats may be read 16 bytes at a time: addresses and sizes of rows are multiples of that.
layout(constant_id = 3) const bool kWholeQuads = false;
// The 16 signed bytes that IQ4_NL and IQ4_XS choose from.
layout(constant_id = 4) const uint kIq4Values0 = 0;
layout(constant_id = 5) const uint kIq4Values1 = 0;
layout(constant_id = 6) const uint kIq4Values2 = 0;
layout(constant_id = 7) const uint kIq4Values3 = 0;

// As in base/dtype.h.
const uint kF32 = 0;
const uint kF16 = 1;
const uint kQ4_0 = 2;
const uint kQ4_1 = 3;
const uint kQ5_0 = 6;
const uint kQ5_1 = 7;
const uint kQ8_0 = 8;
const uint kQ2K = 10;
const uint kQ3K = 11;
const uint kQ4K = 12;
const uint kQ5K = 13;
const uint kQ6K = 14;
const uint kIq4Nl = 20;
const uint kIq4Xs = 23;
const uint kBf16 = 30;

const bool kIsFloat = kType == kF32 || kType == kF16 || kType == kBf16;
// Whether the two halves of a run have steps and minimums of their own.
const bool kStepsOfHalves = kType == kQ2K || kType == kQ3K || kType == kQ6K;

// The same memory twice.
layout(set = 0, binding = 0, std430) readonly restrict buffer WeightWords { uint weight_words[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer WeightQuads { uvec4 weight_quads[]; };

#include "halves.glsl"

// Addresses are in bytes and multiples of 2.
uint half_at(uint at) { return (weight_words[at >> 2] >> (8 * (at & 2))) & 0xffff; }

uint word_at(uint at) {
  const uint first = weight_words[at >> 2];
  const uint last = weight_words[(at + 3) >> 2];
  return (at & 2) == 0 ? first : first >> 16 | last << 16;
}

#ifdef PARLANCE_QUAD_LOADS

// Lanes that read rows of their own ask memory less often this way: 16 bytes at a time, of which what lies at `at` is
// then moved to the front.
void load_8_words(uint at, out uint loaded[8]) {
  uint w[12];
  [[unroll]] for (uint i = 0; i < 3; ++i) {
    const uvec4 quad = weight_quads[min((at >> 4) + i, (at + 31) >> 4)];
    [[unroll]] for (uint j = 0; j < 4; ++j) w[4 * i + j] = quad[j];
  }
  [[unroll]] for (uint i = 0; i < 10; ++i) w[i] = (at & 8) != 0 ? w[i + 2] : w[i];
  [[unroll]] for (uint i = 0; i < 9; ++i) w[i] = (at & 4) != 0 ? w[i + 1] : w[i];
  [[unroll]] for (uint i = 0; i < 8; ++i) loaded[i] = (at & 2) != 0 ? w[i] >> 16 | w[i + 1] << 16 : w[i];
}

#else

void load_8_words(uint at, out uint loaded[8]) {
  uint aligned[9];
  [[unroll]] for (uint i = 0; i < 8; ++i) aligned[i] = weight_words[(at >> 2) + i];
  aligned[8] = weight_words[(at + 31) >> 2];
  const bool straddles = (at & 2) != 0;
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    loaded[i] = straddles ? aligned[i] >> 16 | aligned[i + 1] << 16 : aligned[i];
  }
}

#endif

void load_4_words(uint at, out uint loaded[4]) {
  uint aligned[5];
  [[unroll]] for (uint i = 0; i < 4; ++i) aligned[i] = weight_words[(at >> 2) + i];
  aligned[4] = weight_words[(at + 15) >> 2];
  const bool straddles = (at & 2) != 0;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    loaded[i] = straddles ? aligned[i] >> 16 | aligned[i + 1] << 16 : aligned[i];
  }
}

// 32 weights: step * code + minimum, with steps and minimums of the first 16 and of the last 16.
struct Run {
  uint codes[8];  // four signed bytes in each
  vec2 step;
  vec2 minimum;
};

// Codes from bytes whose low nibbles are values 0..15 and whose high nibbles are values 16..31.
void unpack_nibbles(uint at, inout uint codes[8]) {
  uint q[4];
  load_4_words(at, q);
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    codes[i] = q[i] & 0x0f0f0f0f;
    codes[i + 4] = (q[i] >> 4) & 0x0f0f0f0f;
  }
}

// Bit i of `high` becomes bit 4 of code i.
void add_fifth_bits(uint high, inout uint codes[8]) {
  // The product puts four neighbouring bits at distances of 8; what else it sets is masked away.
  const uint spread = 1u << 4 | 1u << 11 | 1u << 18 | 1u << 25;
  [[unroll]] for (uint i = 0; i < 8; ++i) codes[i] |= (((high >> (4 * i)) & 15) * spread) & 0x10101010;
}

uint iq4_value(uint code) {
  const uint low = (code & 4) == 0 ? kIq4Values0 : kIq4Values1;
  const uint high = (code & 4) == 0 ? kIq4Values2 : kIq4Values3;
  return (((code & 8) == 0 ? low : high) >> (8 * (code & 3))) & 255;
}

void look_up_iq4(inout uint codes[8]) {
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    codes[i] = iq4_value(codes[i] & 15) | iq4_value((codes[i] >> 8) & 15) << 8 |
               iq4_value((codes[i] >> 16) & 15) << 16 | iq4_value(codes[i] >> 24) << 24;
  }
}

void load_blocks_of_32(uint at, inout Run run) {
  const float d = f32_from_f16(half_at(at));
  run.step = vec2(d);
  switch (kType) {
    case kQ8_0:
      load_8_words(at + 2, run.codes);
      run.minimum = vec2(0);
      break;
    case kQ4_0:
      unpack_nibbles(at + 2, run.codes);
      run.minimum = vec2(-8 * d);
      break;
    case kQ4_1:
      unpack_nibbles(at + 4, run.codes);
      run.minimum = vec2(f32_from_f16(half_at(at + 2)));
      break;
    case kQ5_0:
      unpack_nibbles(at + 6, run.codes);
      add_fifth_bits(word_at(at + 2), run.codes);
      run.minimum = vec2(-16 * d);
      break;
    case kQ5_1:
      unpack_nibbles(at + 8, run.codes);
      add_fifth_bits(word_at(at + 4), run.codes);
      run.minimum = vec2(f32_from_f16(half_at(at + 2)));
      break;
    case kIq4Nl:
      unpack_nibbles(at + 2, run.codes);
      look_up_iq4(run.codes);
      run.minimum = vec2(0);
      break;
  }
}

// Steps and minimums of Q4_K and Q5_K (quant/k_scales.h) from the head of their block.
void load_k_scales(uint at, uint r, inout Run run) {
  const uint shift = 8 * (r % 4);
  const uint steps = word_at(at + 4) >> shift;
  const uint minimums = word_at(at + 8) >> shift;
  const uint low_bits = word_at(at + 12) >> shift;
  const bool is_whole = r < 4;
  const uint step = is_whole ? steps & 63 : (low_bits & 15) | ((steps >> 6) & 3) << 4;
  const uint minimum = is_whole ? minimums & 63 : ((low_bits >> 4) & 15) | ((minimums >> 6) & 3) << 4;
  const uint block_steps = word_at(at);
  run.step = vec2(f32_from_f16(block_steps & 0xffff) * float(step));
  run.minimum = vec2(-f32_from_f16(block_steps >> 16) * float(minimum));
}

void load_q2_k(uint at, uint r, inout Run run) {
  load_8_words(at + 16 + 32 * (r / 4), run.codes);
  [[unroll]] for (uint i = 0; i < 8; ++i) run.codes[i] = (run.codes[i] >> (2 * (r % 4))) & 0x03030303;
  const uint scales = half_at(at + 2 * r);
  run.step = f32_from_f16(half_at(at + 80)) * vec2(scales & 15, (scales >> 8) & 15);
  run.minimum = -f32_from_f16(half_at(at + 82)) * vec2((scales >> 4) & 15, scales >> 12);
}

void load_q3_k(uint at, uint r, inout Run run) {
  uint high[8];
  load_8_words(at, high);
  load_8_words(at + 32 + 32 * (r / 4), run.codes);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    run.codes[i] = ((run.codes[i] >> (2 * (r % 4))) & 0x03030303) | ((high[i] >> r) & 0x01010101) << 2;
  }
  const uint low_bits = half_at(at + 96 + (2 * r) % 8) >> (4 * (r / 4));
  const uint high_bits = half_at(at + 104 + (2 * r) % 4) >> (2 * (r / 2));
  const uint scales = (low_bits & 0x0f0f) | (high_bits & 0x0303) << 4;
  run.step = f32_from_f16(half_at(at + 108)) * (vec2(scales & 255, scales >> 8) - 32);
  run.minimum = -4 * run.step;
}

void load_q4_k(uint at, uint r, inout Run run) {
  load_8_words(at + 16 + 32 * (r / 2), run.codes);
  [[unroll]] for (uint i = 0; i < 8; ++i) run.codes[i] = (run.codes[i] >> (4 * (r % 2))) & 0x0f0f0f0f;
  load_k_scales(at, r, run);
}

void load_q5_k(uint at, uint r, inout Run run) {
  uint high[8];
  load_8_words(at + 16, high);
  load_8_words(at + 48 + 32 * (r / 2), run.codes);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    run.codes[i] = ((run.codes[i] >> (4 * (r % 2))) & 0x0f0f0f0f) | ((high[i] >> r) & 0x01010101) << 4;
  }
  load_k_scales(at, r, run);
}

void load_q6_k(uint at, uint r, inout Run run) {
  uint high[8];
  const uint k = r % 4;
  load_8_words(at + 128 + 32 * (r / 4), high);
  load_8_words(at + 64 * (r / 4) + 32 * (k % 2), run.codes);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    run.codes[i] = ((run.codes[i] >> (4 * (k / 2))) & 0x0f0f0f0f) | ((high[i] >> (2 * k)) & 0x03030303) << 4;
  }
  const int scales = int(half_at(at + 192 + 2 * r));
  run.step =
      f32_from_f16(half_at(at + 208)) * vec2(bitfieldExtract(scales, 0, 8), bitfieldExtract(scales, 8, 8));
  run.minimum = -32 * run.step;
}

void load_iq4_xs(uint at, uint r, inout Run run) {
  unpack_nibbles(at + 8 + 16 * r, run.codes);
  look_up_iq4(run.codes);
  const uint head = word_at(at);
  const uint step = ((word_at(at + 4) >> (4 * r)) & 15) | ((head >> (16 + 2 * r)) & 3) << 4;
  run.step = vec2(f32_from_f16(head & 0xffff) * (float(step) - 32));
  run.minimum = vec2(0);
}

// Run number `index` of the row of a block type that starts at byte `row`.
Run load_run(uint row, uint index) {
  Run run;
  if (kBlockElements == 32) {
    load_blocks_of_32(row + index * kBlockBytes, run);
    return run;
  }
  const uint at = row + index / 8 * kBlockBytes;
  const uint r = index % 8;
  switch (kType) {
    case kQ2K: load_q2_k(at, r, run); break;
    case kQ3K: load_q3_k(at, r, run); break;
    case kQ4K: load_q4_k(at, r, run); break;
    case kQ5K: load_q5_k(at, r, run); break;
    case kQ6K: load_q6_k(at, r, run); break;
    case kIq4Xs: load_iq4_xs(at, r, run); break;
  }
  return run;
}

// Value i of a run.
float value_of(Run run, uint i) {
  const int code = bitfieldExtract(int(run.codes[i / 4]), int(8 * (i % 4)), 8);
  return run.step[i / 16] * float(code) + run.minimum[i / 16];
}

// Value i of the row of a float type that starts at byte `row`.
float load_float(uint row, uint i) {
  switch (kType) {
    case kF16: return f32_from_f16(half_at(row + 2 * i));
    case kBf16: return uintBitsToFloat(half_at(row + 2 * i) << 16);
  }
  return uintBitsToFloat(weight_words[row / 4 + i]);
}

// Eight values of a 16-bit float type.
void unpack_8_floats(uvec4 pairs, out vec4 first, out vec4 last) {
  if (kType == kF16) {
    first = vec4(unpackHalf2x16(pairs.x), unpackHalf2x16(pairs.y));
    last = vec4(unpackHalf2x16(pairs.z), unpackHalf2x16(pairs.w));
  } else {
    first = uintBitsToFloat(uvec4(pairs.x << 16, pairs.x & 0xffff0000, pairs.y << 16, pairs.y & 0xffff0000));
    last = uintBitsToFloat(uvec4(pairs.z << 16, pairs.z & 0xffff0000, pairs.w << 16, pairs.w & 0xffff0000));
  }
}

// Values 8 * i.. of the row of a float type that starts at byte `row`, where kWholeQuads holds.
void load_8_floats(uint row, uint i, out vec4 first, out vec4 last) {
  if (kType == kF32) {
    first = uintBitsToFloat(weight_quads[row / 16 + 2 * i]);
    last = uintBitsToFloat(weight_quads[row / 16 + 2 * i + 1]);
    return;
  }
  unpack_8_floats(weight_quads[row / 16 + i], first, last);
}
