// short_conv: a lane for each channel of each token. The first tokens of a run see what the state keeps; the
// first lane computes them all, and then renews the state.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "exp.glsl"

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { float x[]; };            // (n_channel, n_tokens)
layout(binding = 1) readonly buffer Weight { float weights[]; }; // (n_kept + 1, n_channel)
layout(binding = 2) buffer State { float state[]; };             // (n_channel, n_kept, n_seq)
layout(binding = 3) readonly buffer Seq { int seqs[]; };
layout(binding = 4) readonly buffer Pos { int positions[]; };
layout(binding = 5) writeonly buffer Out { float result[]; };    // (n_channel, n_tokens)
layout(push_constant) uniform Push {
  uint n_tokens;
  uint n_channel;
  uint n_kept;
  uint x_at, weight_at, state_at, seq_at, pos_at, out_at;  // elements
} push;

#include "runs.glsl"

uint channel;

float x_of(uint token) { return x[push.x_at + token * push.n_channel + channel]; }
float weight_of(uint tap) { return weights[push.weight_at + channel * (push.n_kept + 1) + tap]; }
void store(uint token, float sum) { result[push.out_at + token * push.n_channel + channel] = silu(sum); }

// Where the state of the sequence of token `first` keeps its i-th input.
uint kept_at(uint first, uint i) {
  return push.state_at + (uint(seq_of(first)) * push.n_kept + i) * push.n_channel + channel;
}

// Input number i from n_kept before the first token of a run on.
float input_of_run(uint first, uint i) {
  if (i >= push.n_kept) return x_of(first + i - push.n_kept);
  return starts_sequence(first) ? 0.0 : state[kept_at(first, i)];
}

void begin_run(uint first) {
  const uint end = end_of_run(first);
  for (uint token = first; token < min(end, first + push.n_kept); ++token) {
    float sum = 0;
    for (uint tap = 0; tap <= push.n_kept; ++tap) {
      sum += weight_of(tap) * input_of_run(first, token - first + tap);
    }
    store(token, sum);
  }
  // In ascending order: each input is read before its place is written.
  for (uint i = 0; i < push.n_kept; ++i) state[kept_at(first, i)] = input_of_run(first, end - first + i);
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n_tokens * push.n_channel) return;
  const uint token = i / push.n_channel;
  channel = i % push.n_channel;
  uint n_before = 0;  // tokens of the run before this one, at most n_kept
  while (n_before < push.n_kept && !starts_run(token - n_before)) ++n_before;
  if (n_before == push.n_kept) {
    float sum = 0;
    for (uint tap = 0; tap <= push.n_kept; ++tap) sum += weight_of(tap) * x_of(token - push.n_kept + tap);
    store(token, sum);
  } else if (n_before == 0) {
    begin_run(token);
  }
}
