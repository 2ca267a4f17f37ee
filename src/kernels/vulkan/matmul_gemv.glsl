// matmul for a few tokens, which is bound by reading the weights: a workgroup computes a few rows for up to 8
// tokens, each lane every n-th piece of them. With PARLANCE_INTEGER_DOT the device multiplies four bytes at
// once.
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

layout(local_size_x_id = 8) in;

#include "dot4.glsl"
#include "grid.glsl"
#include "matmul.glsl"
#include "rounding.glsl"
#include "run_product.glsl"

layout(constant_id = 9) const uint kRows = 1;     // of a workgroup
layout(constant_id = 10) const uint kTokens = 1;  // of a workgroup
// Each lane rounds the activations that it needs, instead of finding them rounded: in a small product that takes less
// than a launch that does it once.
layout(constant_id = 11) const bool kRoundsItself = false;

const uint kValues = kRows * kTokens, kMostThreads = 128;
#include "reduce.glsl"

// A run of 32 activations, see rounding.glsl.
void load_activations(uint token, uint run, out uvec4 low, out uvec4 high, out vec4 scales) {
  const uint at = token * (push.n_in / 32) + run;
  if (kRoundsItself) {
    vec4 values[8];
    [[unroll]] for (uint i = 0; i < 8; ++i) values[i] = x_quads[push.x_at / 4 + 8 * at + i];
    round_run(values, push.smallest_magnitude, low, high, scales);
  } else {
    low = x_codes[2 * at];
    high = x_codes[2 * at + 1];
    scales = x_scales[push.x_scales_at + at];
  }
}

// Runs of 32 of each row.
void add_runs(uint first_row, uint first_token, inout float sums[kRows][kTokens]) {
  const uint n_runs = push.n_in / 32;
  for (uint i = gl_LocalInvocationID.x; i < n_runs; i += gl_WorkGroupSize.x) {
    Run runs[kRows];
    [[unroll]] for (uint r = 0; r < kRows; ++r) runs[r] = load_run(row_address(first_row + r), i);
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      uvec4 low, high;
      vec4 scales;
      load_activations(token_or_last(first_token + t), i, low, high, scales);
      [[unroll]] for (uint r = 0; r < kRows; ++r) sums[r][t] += run_product(runs[r], low, high, scales);
    }
  }
}

void add_quads(uint first_row, uint first_token, inout float sums[kRows][kTokens]) {
  for (uint i = gl_LocalInvocationID.x; i < push.n_in / 8; i += gl_WorkGroupSize.x) {
    vec4 low[kRows];
    vec4 high[kRows];
    [[unroll]] for (uint r = 0; r < kRows; ++r) load_8_floats(row_address(first_row + r), i, low[r], high[r]);
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      const uint at = (push.x_at + token_or_last(first_token + t) * push.n_in) / 4 + 2 * i;
      const vec4 x_low = x_quads[at];
      const vec4 x_high = x_quads[at + 1];
      [[unroll]] for (uint r = 0; r < kRows; ++r) sums[r][t] += dot(low[r], x_low) + dot(high[r], x_high);
    }
  }
}

void add_floats(uint first_row, uint first_token, inout float sums[kRows][kTokens]) {
  for (uint i = gl_LocalInvocationID.x; i < push.n_in; i += gl_WorkGroupSize.x) {
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      const float w = load_float(row_address(first_row + r), i);
      [[unroll]] for (uint t = 0; t < kTokens; ++t) {
        sums[r][t] += w * x[push.x_at + token_or_last(first_token + t) * push.n_in + i];
      }
    }
  }
}

void main() {
  const uint first_row = flat_group() * kRows;
  const uint first_token = gl_WorkGroupID.z * kTokens;
  if (first_row >= push.n_rows) return;

  float sums[kRows][kTokens];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    [[unroll]] for (uint t = 0; t < kTokens; ++t) sums[r][t] = 0;
  }
  if (!kIsFloat) {
    add_runs(first_row, first_token, sums);
  } else if (kWholeQuads) {
    add_quads(first_row, first_token, sums);
  } else {
    add_floats(first_row, first_token, sums);
  }

  float values[kValues];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    [[unroll]] for (uint t = 0; t < kTokens; ++t) values[r * kTokens + t] = sums[r][t];
  }
  reduce(values, true);
  for (uint i = gl_LocalInvocationID.x; i < kValues; i += gl_WorkGroupSize.x)
    store(first_row + i / kTokens, first_token + i % kTokens, reduced_sum(i));
}
