#version 450
// matmul of quantised weights for many tokens, on devices that multiply four bytes at once: a workgroup computes a
// tile of rows times tokens, kDepth runs of 32 at a time, whose codes lie in shared memory. The integer sums of a run
// are exact. What the next step needs is loaded while this one is multiplied.
#extension GL_GOOGLE_include_directive : require
#define PARLANCE_INTEGER_DOT
#define PARLANCE_QUAD_LOADS
layout(local_size_x_id = 8) in;

#include "dot4.glsl"
#include "matmul.glsl"
#include "gemm_tile.glsl"

const uint kDepth = 2;  // runs

// Formats with the minimum -c * step get signed codes instead, code - c.
const uint kCentre = kType == kQ4_0   ? 0x08080808
                     : kType == kQ5_0 ? 0x10101010
                     : kType == kQ3K  ? 0x04040404
                     : kType == kQ6K  ? 0x20202020
                                      : 0;
const bool kHasMinimum = kType == kQ4_1 || kType == kQ5_1 || kType == kQ2K || kType == kQ4K || kType == kQ5K;
const uint kParts = kStepsOfHalves ? 2 : 1;  // of a run, with steps and minimums of their own

// Halves of runs, of all rows (or tokens) beside each other. The one between them keeps lanes that store several
// halves of a row from meeting in a bank.
const uint kRowsBeside = kTileRows + 1, kTokensBeside = kTileTokens + 1;
shared uvec4 w_tile[2 * kDepth * kRowsBeside];
shared uvec4 x_tile[2 * kDepth * kTokensBeside];
shared float w_steps[kDepth * kParts * kTileRows];
shared float w_minimums[kHasMinimum ? kDepth * kParts * kTileRows : 1];
shared float x_steps[kDepth * kTileTokens];
shared float x_sums[kHasMinimum ? kDepth * kParts * kTileTokens : 1];  // times the step

// What each lane takes to shared memory: runs of weights, and halves of runs of activations.
const uint kRunsOfLane = (kDepth * kTileRows + kLanes - 1) / kLanes;
const uint kHalvesOfLane = (2 * kDepth * kTileTokens + kLanes - 1) / kLanes;

struct HalfRun {
  uvec4 codes;
  vec4 scales;  // of the whole run, see matmul_quantise.comp
};

// The n-th one of this lane; behind the end of a row, zeros.
Run load_weights(uint n, uint first_row, uint first_run) {
  const uint i = gl_LocalInvocationID.x + n * kLanes;
  const uint run = first_run + i % kDepth;
  if (run < push.n_in / 32 && i < kDepth * kTileRows) return load_run(row_address(first_row + i / kDepth), run);
  Run zeros;
  [[unroll]] for (uint j = 0; j < 8; ++j) zeros.codes[j] = 0;
  zeros.step = zeros.minimum = vec2(0);
  return zeros;
}

void put_weights(uint n, Run w) {
  const uint i = gl_LocalInvocationID.x + n * kLanes;
  if (i >= kDepth * kTileRows) return;
  const uint row = i / kDepth, run = i % kDepth;
  if (kCentre != 0) {
    // The highest bit of each byte is set meanwhile, so that none borrows from the next.
    [[unroll]] for (uint j = 0; j < 8; ++j)
      w.codes[j] = ((w.codes[j] | 0x80808080) - kCentre) ^ 0x80808080;
  }
  w_tile[2 * run * kRowsBeside + row] = uvec4(w.codes[0], w.codes[1], w.codes[2], w.codes[3]);
  w_tile[(2 * run + 1) * kRowsBeside + row] = uvec4(w.codes[4], w.codes[5], w.codes[6], w.codes[7]);
  [[unroll]] for (uint part = 0; part < kParts; ++part) {
    const uint at = (run * kParts + part) * kTileRows + row;
    w_steps[at] = w.step[part];
    if (kHasMinimum) w_minimums[at] = w.minimum[part];
  }
}

HalfRun load_activations(uint n, uint first_token, uint first_run) {
  const uint i = gl_LocalInvocationID.x + n * kLanes;
  const uint n_runs = push.n_in / 32, run = first_run + i / 2 % kDepth;
  if (run >= n_runs || i >= 2 * kDepth * kTileTokens) return HalfRun(uvec4(0), vec4(0));
  const uint at = token_or_last(first_token + i / (2 * kDepth)) * n_runs + run;
  return HalfRun(x_codes[2 * at + i % 2], x_scales[push.x_scales_at + at]);
}

void put_activations(uint n, HalfRun x) {
  const uint i = gl_LocalInvocationID.x + n * kLanes;
  if (i >= 2 * kDepth * kTileTokens) return;
  const uint token = i / (2 * kDepth), run = i / 2 % kDepth, part = i % 2;
  x_tile[(2 * run + part) * kTokensBeside + token] = x.codes;
  if (part == 0) x_steps[run * kTileTokens + token] = x.scales.x;
  if (kHasMinimum && part < kParts)
    x_sums[(run * kParts + part) * kTileTokens + token] = kStepsOfHalves ? x.scales[1 + part] : x.scales.w;
}

int dot16(uvec4 w, uvec4 x, int sum) {
  sum = dot4(w.x, x.x) + sum;
  sum = dot4(w.y, x.y) + sum;
  sum = dot4(w.z, x.z) + sum;
  return dot4(w.w, x.w) + sum;
}

float sums[kRows * kTokens];

// Adds the products of one run.
void multiply(uint run, uvec2 place) {
  uvec4 x_low[kTokens], x_high[kTokens];
  float x_step[kTokens];
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    const uint token = place.y + t * kTokenLanes;
    x_low[t] = x_tile[2 * run * kTokensBeside + token];
    x_high[t] = x_tile[(2 * run + 1) * kTokensBeside + token];
    x_step[t] = x_steps[run * kTileTokens + token];
  }
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    const uint row = place.x + r * kRowLanes;
    const uvec4 w_low = w_tile[2 * run * kRowsBeside + row];
    const uvec4 w_high = w_tile[(2 * run + 1) * kRowsBeside + row];
    const uint w_at = run * kParts * kTileRows + row;
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      float sum = sums[r * kTokens + t];
      if (kStepsOfHalves) {
        sum += x_step[t] * (w_steps[w_at] * float(dot16(w_low, x_low[t], 0)) +
                            w_steps[w_at + kTileRows] * float(dot16(w_high, x_high[t], 0)));
      } else {
        sum += w_steps[w_at] * x_step[t] * float(dot16(w_high, x_high[t], dot16(w_low, x_low[t], 0)));
      }
      if (kHasMinimum) {
        [[unroll]] for (uint part = 0; part < kParts; ++part)
          sum += w_minimums[w_at + part * kTileRows] *
                 x_sums[(run * kParts + part) * kTileTokens + place.y + t * kTokenLanes];
      }
      sums[r * kTokens + t] = sum;
    }
  }
}

void main() {
  const uint first_row = gl_WorkGroupID.x * kTileRows;
  const uint first_token = gl_WorkGroupID.y * kTileTokens;
  const uint n_runs = push.n_in / 32;
  const uvec2 place = place_of(gl_LocalInvocationID.x);
  [[unroll]] for (uint i = 0; i < kRows * kTokens; ++i) sums[i] = 0;
  Run w[kRunsOfLane];
  HalfRun x[kHalvesOfLane];
  [[unroll]] for (uint n = 0; n < kRunsOfLane; ++n) w[n] = load_weights(n, first_row, 0);
  [[unroll]] for (uint n = 0; n < kHalvesOfLane; ++n) x[n] = load_activations(n, first_token, 0);

  for (uint first = 0; first < n_runs; first += kDepth) {
    barrier();
    [[unroll]] for (uint n = 0; n < kRunsOfLane; ++n) put_weights(n, w[n]);
    [[unroll]] for (uint n = 0; n < kHalvesOfLane; ++n) put_activations(n, x[n]);
    barrier();
    const uint next = first + kDepth;
    if (next < n_runs) {
      [[unroll]] for (uint n = 0; n < kRunsOfLane; ++n) w[n] = load_weights(n, first_row, next);
      [[unroll]] for (uint n = 0; n < kHalvesOfLane; ++n) x[n] = load_activations(n, first_token, next);
    }
    [[unroll]] for (uint run = 0; run < kDepth; ++run) multiply(run, place);
  }

  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    [[unroll]] for (uint r = 0; r < kRows; ++r)
      store(first_row + place.x + r * kRowLanes, first_token + place.y + t * kTokenLanes, sums[r * kTokens + t]);
  }
}
