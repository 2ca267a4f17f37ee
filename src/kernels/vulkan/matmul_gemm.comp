#version 450
// matmul for many tokens: a workgroup computes a tile of 64 rows times 64 tokens, 32 values of the inner
// dimension at a time, from shared memory. Quantised weights and activations are multiplied as the floats
// that they stand for.
#extension GL_GOOGLE_include_directive : require
#include "matmul.glsl"

const uint kTile = 64;
const uint kDepth = 32;
layout(local_size_x = 128) in;

// Four rows (or tokens) beside each other.
shared vec4 w_tile[kDepth][kTile / 4];
shared vec4 x_tile[kDepth][kTile / 4];

void put_w(uint column, uint i, float value) { w_tile[i][column / 4][column % 4] = value; }
void put_x(uint column, uint i, float value) { x_tile[i][column / 4][column % 4] = value; }

// Values first.. of a row, as far as there are any, then zeros.
void load_weights(uint column, uint row, uint first) {
  const uint address = row_address(row);
  if (!kIsFloat) {
    const Run run = load_run(address, first / kDepth);
    [[unroll]] for (uint i = 0; i < kDepth; ++i) put_w(column, i, value_of(run, i));
  } else if (kWholeQuads) {
    [[unroll]] for (uint i = 0; i < kDepth; i += 8) {
      vec4 low = vec4(0);
      vec4 high = vec4(0);
      if (first + i < push.n_in) load_8_floats(address, (first + i) / 8, low, high);
      [[unroll]] for (uint j = 0; j < 4; ++j) put_w(column, i + j, low[j]);
      [[unroll]] for (uint j = 0; j < 4; ++j) put_w(column, i + 4 + j, high[j]);
    }
  } else {
    for (uint i = 0; i < kDepth; ++i)
      put_w(column, i, first + i < push.n_in ? load_float(address, first + i) : 0);
  }
}

void load_activations(uint column, uint token, uint first) {
  const uint from = token_or_last(token);
  if (!kIsFloat) {
    const uint run = (from * push.n_in + first) / kDepth;
    const float step = x_scales[push.x_scales_at + run].x;
    [[unroll]] for (uint i = 0; i < kDepth; ++i) {
      const int codes = int(x_codes[2 * run + i / 16][i / 4 % 4]);
      put_x(column, i, step * float(bitfieldExtract(codes, int(8 * (i % 4)), 8)));
    }
  } else if (kWholeQuads) {
    const uint at = (push.x_at + from * push.n_in + first) / 4;
    [[unroll]] for (uint i = 0; i < kDepth; i += 4) {
      const vec4 values = first + i < push.n_in ? x_quads[at + i / 4] : vec4(0);
      [[unroll]] for (uint j = 0; j < 4; ++j) put_x(column, i + j, values[j]);
    }
  } else {
    const uint at = push.x_at + from * push.n_in + first;
    for (uint i = 0; i < kDepth; ++i) put_x(column, i, first + i < push.n_in ? x[at + i] : 0);
  }
}

void main() {
  const uint first_row = gl_WorkGroupID.x * kTile;
  const uint first_token = gl_WorkGroupID.y * kTile;
  const uint lane = gl_LocalInvocationID.x;
  // Of the tile, each lane computes four rows of the lower half and four of the upper one, of four tokens.
  const uint row_block = lane % 8;
  const uint token_block = lane / 8;
  vec4 sums_low[4];
  vec4 sums_high[4];
  [[unroll]] for (uint t = 0; t < 4; ++t) sums_low[t] = sums_high[t] = vec4(0);

  for (uint first = 0; first < push.n_in; first += kDepth) {
    if (lane < kTile) {
      load_weights(lane, first_row + lane, first);
    } else {
      load_activations(lane - kTile, first_token + lane - kTile, first);
    }
    barrier();
    for (uint i = 0; i < kDepth; ++i) {
      const vec4 w_low = w_tile[i][row_block];
      const vec4 w_high = w_tile[i][kTile / 8 + row_block];
      const vec4 x4 = x_tile[i][token_block];
      [[unroll]] for (uint t = 0; t < 4; ++t) {
        sums_low[t] += w_low * x4[t];
        sums_high[t] += w_high * x4[t];
      }
    }
    barrier();
  }

  [[unroll]] for (uint t = 0; t < 4; ++t) {
    const uint token = first_token + 4 * token_block + t;
    const uint row = first_row + 4 * row_block;
    [[unroll]] for (uint i = 0; i < 4; ++i) store(row + i, token, sums_low[t][i]);
    [[unroll]] for (uint i = 0; i < 4; ++i) store(row + kTile / 2 + i, token, sums_high[t][i]);
  }
}
