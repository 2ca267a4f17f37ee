#version 450
// matmul for many tokens: a workgroup computes a tile of rows times tokens, 32 values of the inner dimension at a
// time, from shared memory. What the next step needs is loaded while this one is multiplied. Quantised weights (on
// devices that do not multiply four bytes at once) and their activations are multiplied as the floats that they stand
// for.
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 8) in;

#include "matmul.glsl"
#include "gemm_tile.glsl"

const uint kDepth = 32;

// Of each value of the inner dimension, the rows (or tokens) of the tile, four beside each other.
const uint kRowQuads = kTileRows / 4, kTokenQuads = kTileTokens / 4;
shared vec4 w_tile[kDepth * kRowQuads];
shared vec4 x_tile[kDepth * kTokenQuads];

// What each lane takes to shared memory: eight values of a row, four of a token.
const uint kWeightPieces = kDepth / 8, kActivationPieces = kDepth / 4;
const uint kWeightsOfLane = (kTileRows * kWeightPieces + kLanes - 1) / kLanes;
const uint kActivationsOfLane = (kTileTokens * kActivationPieces + kLanes - 1) / kLanes;

// Where a quad of rows or tokens lies among those of value `i`. They change places from four values to the next, so
// that lanes that store different values of a row meet in no bank.
uint place_in(uint quad, uint i) { return quad ^ (i / 4 % 8); }

void put_w(uint row, uint i, vec4 values) {
  [[unroll]] for (uint j = 0; j < 4; ++j)
    w_tile[(i + j) * kRowQuads + place_in(row / 4, i)][row % 4] = values[j];
}

void put_x(uint token, uint i, vec4 values) {
  [[unroll]] for (uint j = 0; j < 4; ++j)
    x_tile[(i + j) * kTokenQuads + place_in(token / 4, i)][token % 4] = values[j];
}

// Eight values as they were loaded, so that nothing waits for them before they are needed: pairs of 16-bit floats, or
// floats in both.
struct Eight {
  uvec4 low, high;
};
const bool kIsPairs = kWholeQuads && kType != kF32;

// The n-th piece of this lane, of floats; zeros behind the end of the row.
Eight load_weights(uint n, uint first_row, uint first) {
  const uint piece = gl_LocalInvocationID.x + n * kLanes;
  const uint address = row_address(first_row + piece / kWeightPieces);
  const uint at = first + 8 * (piece % kWeightPieces);
  Eight values = Eight(uvec4(0), uvec4(0));
  if (kIsPairs) {
    if (at < push.n_in) values.low = weight_quads[address / 16 + at / 8];
  } else if (kWholeQuads) {
    if (at < push.n_in) values = Eight(weight_quads[address / 16 + at / 4], weight_quads[address / 16 + at / 4 + 1]);
  } else {
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      if (at + j < push.n_in) values.low[j] = floatBitsToUint(load_float(address, at + j));
      if (at + 4 + j < push.n_in) values.high[j] = floatBitsToUint(load_float(address, at + 4 + j));
    }
  }
  return values;
}

void put_weights(uint n, Eight values) {
  const uint piece = gl_LocalInvocationID.x + n * kLanes;
  const uint row = piece / kWeightPieces, i = 8 * (piece % kWeightPieces);
  if (row >= kTileRows) return;
  vec4 low = uintBitsToFloat(values.low), high = uintBitsToFloat(values.high);
  if (kIsPairs) unpack_8_floats(values.low, low, high);
  put_w(row, i, low);
  put_w(row, i + 4, high);
}

// A run of a row for each lane.
void unpack_weights(uint first_row, uint first) {
  for (uint row = gl_LocalInvocationID.x; row < kTileRows; row += kLanes) {
    const Run run = load_run(row_address(first_row + row), first / kDepth);
    [[unroll]] for (uint i = 0; i < 32; i += 4)
      put_w(row, i, vec4(value_of(run, i), value_of(run, i + 1), value_of(run, i + 2), value_of(run, i + 3)));
  }
}

vec4 load_activations(uint n, uint first_token, uint first) {
  const uint piece = gl_LocalInvocationID.x + n * kLanes;
  const uint i = first + 4 * (piece % kActivationPieces);
  const uint at = token_or_last(first_token + piece / kActivationPieces) * push.n_in + i;
  if (!kIsFloat) {
    const uint run = at / 32;
    const int codes = int(x_codes[at / 16][at / 4 % 4]);
    return x_scales[push.x_scales_at + run].x * vec4(ivec4(codes << 24, codes << 16, codes << 8, codes) >> 24);
  }
  if (kWholeQuads) return i < push.n_in ? x_quads[(push.x_at + at) / 4] : vec4(0);
  vec4 values = vec4(0);
  [[unroll]] for (uint j = 0; j < 4; ++j)
    if (i + j < push.n_in) values[j] = x[push.x_at + at + j];
  return values;
}

void put_activations(uint n, vec4 values) {
  const uint piece = gl_LocalInvocationID.x + n * kLanes;
  if (piece < kTileTokens * kActivationPieces)
    put_x(piece / kActivationPieces, 4 * (piece % kActivationPieces), values);
}

vec4 sums[kRows / 4 * kTokens];

void multiply(uint i, uvec2 place) {
  vec4 w4[kRows / 4], x4[kTokens / 4];
  [[unroll]] for (uint r = 0; r < kRows / 4; ++r)
    w4[r] = w_tile[i * kRowQuads + place_in(place.x + r * kRowLanes, i)];
  [[unroll]] for (uint t = 0; t < kTokens / 4; ++t)
    x4[t] = x_tile[i * kTokenQuads + place_in(place.y + t * kTokenLanes, i)];
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    [[unroll]] for (uint r = 0; r < kRows / 4; ++r)
      sums[t * (kRows / 4) + r] += w4[r] * x4[t / 4][t % 4];
  }
}

void main() {
  const uint first_row = gl_WorkGroupID.x * kTileRows;
  const uint first_token = gl_WorkGroupID.y * kTileTokens;
  const uvec2 place = place_of(gl_LocalInvocationID.x);
  [[unroll]] for (uint i = 0; i < kRows / 4 * kTokens; ++i) sums[i] = vec4(0);
  Eight w[kWeightsOfLane];
  vec4 x[kActivationsOfLane];
  if (kIsFloat) [[unroll]] for (uint n = 0; n < kWeightsOfLane; ++n) w[n] = load_weights(n, first_row, 0);
  [[unroll]] for (uint n = 0; n < kActivationsOfLane; ++n) x[n] = load_activations(n, first_token, 0);

  for (uint first = 0; first < push.n_in; first += kDepth) {
    barrier();
    if (kIsFloat) {
      [[unroll]] for (uint n = 0; n < kWeightsOfLane; ++n) put_weights(n, w[n]);
    } else {
      unpack_weights(first_row, first);
    }
    [[unroll]] for (uint n = 0; n < kActivationsOfLane; ++n) put_activations(n, x[n]);
    barrier();
    const uint next = first + kDepth;
    if (next < push.n_in) {
      if (kIsFloat) [[unroll]] for (uint n = 0; n < kWeightsOfLane; ++n) w[n] = load_weights(n, first_row, next);
      [[unroll]] for (uint n = 0; n < kActivationsOfLane; ++n) x[n] = load_activations(n, first_token, next);
    }
    // Not unrolled further: devices keep few instructions.
    [[dont_unroll]] for (uint i = 0; i < kDepth; i += 4) {
      [[unroll]] for (uint j = 0; j < 4; ++j) multiply(i + j, place);
    }
  }

  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    const uint token = first_token + 4 * (place.y + t / 4 * kTokenLanes) + t % 4;
    [[unroll]] for (uint r = 0; r < kRows; ++r)
      store(first_row + 4 * (place.x + r / 4 * kRowLanes) + r % 4, token, sums[t * (kRows / 4) + r / 4][r % 4]);
  }
}
