// How head vectors are written into a cache, byte for byte as the scalar definitions of quant/ do: sums run in
// their order, and no product is fused with a sum. A group encodes one vector, which lies in shared memory.
// For shaders with `pages`, `constants` and `projection`.

layout(constant_id = 0) const uint kFormat = 1;      // kv_formats.glsl
layout(constant_id = 1) const uint kHeadDim = 128;
layout(constant_id = 2) const uint kRowHalves = 128;  // of an encoded vector, units of two bytes
layout(constant_id = 3) const uint kRoom = 1;         // floats that the format's search needs, at least 1
layout(constant_id = 4) const bool kIsSearched = false;

const uint kLanes = 64;
layout(local_size_x = 64) in;

shared float x[kHeadDim];
shared uint encoded[kRowHalves];
shared float steps[kHeadDim / 32 + 1];  // of blocks
shared float room[kRoom];

#include "kv_formats.glsl"
#include "exact.glsl"
#include "halves.glsl"
#include "kv_bits.glsl"
#include "kv_transform.glsl"

const float kLeastLength = 1e-10;

uint f16_of(float value) { return f16_bits(floatBitsToUint(value)); }
float rounded_to_f16(float value) { return f32_from_f16(f16_of(value)); }

// In order of index.
float sum_of_squares(uint first, uint n) {
  precise float sum = 0;
  for (uint i = 0; i < n; ++i) sum = sum + x[first + i] * x[first + i];
  return sum;
}

void encode_floats() {
  for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += kLanes) {
    const uint bits = floatBitsToUint(x[i]);
    if (kFormat == kF32) {
      encoded[2 * i] = bits & 0xffffu;
      encoded[2 * i + 1] = bits >> 16;
    } else {
      encoded[i] = kFormat == kF16 ? f16_bits(bits) : bf16_bits(bits);
    }
  }
}

void encode_q8_0() {
  for (uint block = gl_LocalInvocationID.x; block < kHeadDim / 32; block += kLanes) {
    uint largest = 0;
    for (uint i = 0; i < 32; ++i) largest = max(largest, magnitude_bits(x[32 * block + i]));
    const uint d = q8_0_step(largest);
    const float inverse = q8_0_inverse(d);
    encoded[17 * block] = f16_bits(d);
    for (uint i = 0; i < 16; ++i) {
      const uint at = 32 * block + 2 * i;
      encoded[17 * block + 1 + i] = q8_0_code(x[at], inverse) | q8_0_code(x[at + 1], inverse) << 8;
    }
  }
}

// What a candidate for a block's step gains, and the step that fits its codes best.
const uint kMostCandidates = 16;
void put_candidate(uint block, uint candidate, float product, float squares, bool is_one) {
  precise const float square = product * product;
  const uint at = 2 * (block * kMostCandidates + candidate);
  room[at] = is_one ? divided(square, squares) : 0;
  room[at + 1] = is_one ? divided(product, squares) : 0;
}

// The step of the first candidate with the largest gain; without one, and where that is no number, `fallback`.
float best_step(uint block, uint n_candidates, float fallback) {
  if (!is_finite(fallback)) return fallback;
  float gain = 0, step = fallback;
  for (uint candidate = 0; candidate < n_candidates; ++candidate) {
    const uint at = 2 * (block * kMostCandidates + candidate);
    if (room[at] > gain) {
      gain = room[at];
      step = room[at + 1];
    }
  }
  return step;
}

float q4_0_level(float value) { return clamp(roundEven(value), -8.0, 7.0); }

void encode_q4_0() {
  const uint lane = gl_LocalInvocationID.x, n_blocks = kHeadDim / 32;
  const uint kCandidates = 9;
  for (uint block = lane; block < n_blocks; block += kLanes) {
    float largest = 0;  // the first value of largest magnitude
    for (uint i = 0; i < 32; ++i)
      if (magnitude_bits(x[32 * block + i]) > magnitude_bits(largest)) largest = x[32 * block + i];
    steps[block] = finite_or_nan(largest / -8);
  }
  barrier();
  if (kIsSearched) {
    for (uint task = lane; task < n_blocks * kCandidates; task += kLanes) {
      const uint block = task / kCandidates, candidate = task % kCandidates;
      precise const float factor = 0.7 + 0.05 * float(candidate);
      precise const float step = steps[block] * factor;
      precise float product = 0, squares = 0;
      for (uint i = 0; i < 32; ++i) {
        const float value = x[32 * block + i];
        const float level = q4_0_level(divided(value, step));
        product = product + value * level;
        squares = squares + level * level;
      }
      put_candidate(block, candidate, product, squares, step != 0 && squares > 0);
    }
    barrier();
    for (uint block = lane; block < n_blocks; block += kLanes)
      steps[block] = rounded_to_f16(best_step(block, kCandidates, steps[block]));
    barrier();
  }
  for (uint unit = lane; unit < n_blocks * 9; unit += kLanes) {
    const uint block = unit / 9, part = unit % 9;
    const float d = steps[block];
    uint bits = f16_of(d);
    if (part > 0) {
      const float inverse = d != 0 ? divided(1, d) : 0;
      bits = 0;
      for (uint i = 0; i < 4; ++i) {  // two bytes, of each the low half, then the high
        const float value = x[32 * block + 2 * (part - 1) + i / 2 + 16 * (i % 2)];
        precise const float scaled = value * inverse;
        precise const float moved = scaled + 8.5;
        const int code = kIsSearched ? int(q4_0_level(scaled)) + 8 : min(15, int(moved));
        bits |= uint(code & 15) << (4 * i);
      }
    }
    encoded[unit] = bits;
  }
}

// nearest_code() of quant/codebook.h among levels of tbq3_0 or tbq4_0.
uint nearest_code(float v) {
  const uint first = kFormat == kTbq3 ? kLevels3At : kLevels4At, n = kFormat == kTbq3 ? 8 : 16;
  if (v >= constants[first + n - 1]) return n - 1;
  uint low = 0;
  for (uint i = 1; i + 1 < n; ++i)
    if (constants[first + i] <= v) low = i;
  precise const float above = constants[first + low + 1] - v;
  precise const float below = v - constants[first + low];
  return v <= constants[first] || below <= above ? low : low + 1;
}

float level_of(uint code) { return constants[(kFormat == kTbq3 ? kLevels3At : kLevels4At) + code]; }

void encode_tbq() {
  to_stored(kSignedHadamard32, kHeadDim, 1, 1);
  const uint lane = gl_LocalInvocationID.x, n_blocks = kHeadDim / 32;
  const uint kCandidates = 15;
  for (uint block = lane; block < n_blocks; block += kLanes)
    steps[block] = root(sum_of_squares(32 * block, 32) / 32, 0);
  barrier();
  if (kIsSearched) {
    for (uint task = lane; task < n_blocks * kCandidates; task += kLanes) {
      const uint block = task / kCandidates, candidate = task % kCandidates;
      precise const float factor = 0.65 + 0.05 * float(candidate);
      precise const float step = steps[block] * factor;
      precise float product = 0, squares = 0;
      for (uint i = 0; i < 32; ++i) {
        const float value = x[32 * block + i];
        const float level = level_of(nearest_code(divided(value, step)));
        product = product + value * level;
        squares = squares + level * level;
      }
      put_candidate(block, candidate, product, squares, step > 0 && product > 0);
    }
    barrier();
    for (uint block = lane; block < n_blocks; block += kLanes)
      steps[block] = rounded_to_f16(best_step(block, kCandidates, steps[block]));
    barrier();
  }
  const uint n_units = kFormat == kTbq3 ? 7 : 9;
  for (uint unit = lane; unit < n_blocks * n_units; unit += kLanes) {
    const uint block = unit / n_units, part = unit % n_units;
    const float d = steps[block];
    uint bits = f16_of(d);
    if (part > 0) {
      bits = 0;
      const float inverse = d != 0 ? divided(1, d) : 0;
      // Of codes of three bits, from the first that reaches into these 16 bits to the last.
      const uint first = kFormat == kTbq3 ? 16 * (part - 1) / 3 : 0;
      const uint n = kFormat == kTbq3 ? (16 * (part - 1) + 15) / 3 - first + 1 : 4;
      for (uint i = 0; i < n && d != 0; ++i) {
        const uint element = kFormat == kTbq3 ? first + i : 2 * (part - 1) + i / 2 + 16 * (i % 2);
        precise const float scaled = x[32 * block + element] * inverse;
        const uint code = nearest_code(scaled);
        const int shift = kFormat == kTbq3 ? int(3 * element) - int(16 * (part - 1)) : int(4 * i);
        bits |= shift < 0 ? code >> -shift : code << shift;
      }
    }
    encoded[unit] = bits & 0xffffu;
  }
}

uint polar_code(float v) {
  uint code = 0;
  for (uint i = 0; i < 15; ++i) code += constants[kPolarBoundsAt + i] < v ? 1 : 0;
  return code;
}

// The length of 128 values, whose squares the definition sums up in f64: here as a float and what it leaves.
float length_of_block(uint first) {
  precise float high = 0, low = 0;
  for (uint i = 0; i < 128; ++i) {
    const float value = x[first + i];
    const float h = upper_part(value);
    precise const float rest = value - h;
    precise const float square = value * value;
    precise const float square_rest = ((h * h - square) + 2.0 * (h * rest)) + rest * rest;
    precise const float sum = high + square;
    precise const float part = sum - high;
    precise const float sum_rest = (high - (sum - part)) + (square - part);
    high = sum;
    low = low + (sum_rest + square_rest);
  }
  return isinf(high) ? high : root(high, low);
}

void encode_polar() {
  const uint lane = gl_LocalInvocationID.x, n_blocks = kHeadDim / 128;
  for (uint block = lane; block < n_blocks; block += kLanes) steps[block] = length_of_block(128 * block);
  barrier();
  for (uint i = lane; i < kHeadDim; i += kLanes) {
    const float length = steps[i / 128];
    x[i] *= length > kLeastLength ? divided(1, length) : 0;
  }
  barrier();
  hadamard(kHeadDim, 128);
  const uint kHalves = 41;
  for (uint unit = lane; unit < n_blocks * 32; unit += kLanes) {
    uint bits = 0;
    for (uint i = 0; i < 4; ++i) bits |= polar_code(x[4 * unit + i]) << (4 * i);
    encoded[unit / 32 * kHalves + 1 + unit % 32] = bits;
  }
  for (uint block = lane; block < n_blocks; block += kLanes) {
    precise float residual = 0, product = 0, squares = 0;
    for (uint i = 0; i < 128; ++i) {
      const float value = x[128 * block + i];
      const float level = constants[kPolarLevelsAt + polar_code(value)];
      residual = residual + (value - level) * constants[kResidualSignsAt + i];
      product = product + value * level;
      squares = squares + level * level;
    }
    precise const float scaled = steps[block] * product;
    const float length = kIsSearched ? divided(scaled, squares) : steps[block];
    encoded[block * kHalves] = f16_of(length);
    encoded[block * kHalves + 33] = residual >= 0 ? 1 : 0;
    for (uint i = 34; i < kHalves; ++i) encoded[block * kHalves + i] = 0;
  }
}

// room: the sketch.
void encode_qjl(uint block) {
  const uint lane = gl_LocalInvocationID.x;
  for (uint j = lane; j < kSketchOut; j += kLanes) {
    precise float sum = 0;
    for (uint i = 0; i < kSketchIn; ++i) sum = sum + x[128 * block + i] * projection[i * kSketchOut + j];
    room[j] = sum;
  }
  barrier();
  if (lane < 16) {
    uint bits = 0;
    for (uint i = 0; i < 16; ++i) bits |= (room[16 * lane + i] > 0 ? 1u : 0u) << i;
    encoded[17 * block + lane] = bits;
  }
  if (lane == 16) {
    encoded[17 * block + 16] = bf16_bits(floatBitsToUint(root(sum_of_squares(128 * block, 128), 0)));
  }
  barrier();
}

// The algorithm of Viterbi: see quant/tbq3_tcq.cpp. A lane has the states of one value of the lower bits. room:
// costs of states. came_from: where the best way came from, ten steps in a word.
const uint kStates = 512, kLows = kStates / 8, kSteps = 128, kStepsOfWord = 10;
shared uint came_from[kFormat == kTcq ? 13 * kLows : 1];
shared uint symbols[kFormat == kTcq ? kSteps + 1 : 1];  // then the state before the first step
void find_path(uint block) {
  const uint lane = gl_LocalInvocationID.x;
  float levels[8];
  for (uint s = 0; s < 8; ++s) levels[s] = constants[kTrellisAt + s * kLows + lane];
  for (uint s = 0; s < 8; ++s) room[s * kLows + lane] = 0;
  barrier();
  uint word = 0;
  for (uint t = 0; t < kSteps; ++t) {
    uint from = 0;
    float best = room[8 * lane];
    for (uint p = 1; p < 8; ++p) {
      const float cost = room[8 * lane + p];
      if (cost < best) {
        best = cost;
        from = p;
      }
    }
    word |= from << (3 * (t % kStepsOfWord));
    if (t % kStepsOfWord == kStepsOfWord - 1 || t == kSteps - 1) {
      came_from[t / kStepsOfWord * kLows + lane] = word;
      word = 0;
    }
    barrier();
    const float value = x[128 * block + t];
    for (uint s = 0; s < 8; ++s) {
      precise const float distance = value - levels[s];
      precise const float cost = best + distance * distance;
      room[s * kLows + lane] = cost;
    }
    barrier();
  }
  if (lane == 0) {
    uint state = 0;
    for (uint s = 1; s < kStates; ++s)
      if (room[s] < room[state]) state = s;
    for (int t = int(kSteps) - 1; t >= 0; --t) {
      symbols[t] = state / kLows;
      const uint step = uint(t), at = step / kStepsOfWord * kLows + state % kLows;
      state = state % kLows * 8 + (came_from[at] >> (3 * (step % kStepsOfWord)) & 7u);
    }
    symbols[kSteps] = state;
  }
  barrier();
}

void encode_tcq() {
  const uint lane = gl_LocalInvocationID.x, n_blocks = kHeadDim / 128, kHalves = 26;
  for (uint block = lane; block < n_blocks; block += kLanes)
    steps[block] = root(sum_of_squares(128 * block, 128), 0);
  barrier();
  for (uint i = lane; i < kHeadDim; i += kLanes) {
    const float length = steps[i / 128];
    x[i] *= length > kLeastLength ? divided(1, length) : 0;
  }
  barrier();
  to_stored(kSignedHadamard128, kHeadDim, 1, 1);
  for (uint block = 0; block < n_blocks; ++block) {
    find_path(block);
    const uint first = symbols[kSteps];
    if (lane < 25) {  // six bits of the first state, then three a step
      uint bits = 0;
      for (uint i = 0; i < 16; ++i) {
        const uint bit = 16 * lane + i;
        const uint value = bit < 6                ? first >> (3 + bit)
                           : bit < 6 + 3 * kSteps ? symbols[(bit - 6) / 3] >> ((bit - 6) % 3)
                                                  : 0;
        bits |= (value & 1u) << i;
      }
      encoded[block * kHalves + 1 + lane] = bits;
    }
    if (lane == 32) {
      uint state = first;
      precise float squares = 0;
      for (uint t = 0; t < kSteps; ++t) {
        state = state >> 3 | symbols[t] << 6;
        const float level = constants[kTrellisAt + state];
        squares = squares + level * level;
      }
      const float decoded = root(squares, 0), length = steps[block];
      encoded[block * kHalves] = f16_of(decoded > kLeastLength ? divided(length, decoded) : length);
    }
    barrier();
  }
}

// The vector in x, which is lost, as bytes of a row that starts at `at` (units of two bytes). x and what else
// lies in shared memory is free again behind it.
void encode_row(uint at, uint rotated_block, float root_of_block) {
  if (rotated_block > 1) to_stored(kHadamard, kHeadDim, rotated_block, root_of_block);
  switch (kFormat) {
    case kQ8_0: encode_q8_0(); break;
    case kQ4_0: encode_q4_0(); break;
    case kTbq3:
    case kTbq4: encode_tbq(); break;
    case kTcq: encode_tcq(); break;
    case kQjl:
      for (uint block = 0; block < kHeadDim / 128; ++block) encode_qjl(block);
      break;
    case kPolar:
    case kPolarResidual: encode_polar(); break;
    default: encode_floats();
  }
  barrier();
  // Whole words, and at either end half a word that the neighbour shares.
  const uint lane = gl_LocalInvocationID.x, first = at & 1u, n_words = (kRowHalves - first) / 2;
  for (uint i = lane; i < n_words; i += kLanes)
    pages[((at + first) >> 1) + i] = encoded[first + 2 * i] | encoded[first + 2 * i + 1] << 16;
  if (lane == 0 && first == 1) store_half(at, encoded[0]);
  if (lane == 1 && first + 2 * n_words < kRowHalves) store_half(at + kRowHalves - 1, encoded[kRowHalves - 1]);
  barrier();
}
