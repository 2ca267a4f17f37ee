// short_conv: a lane for each channel of each token. The first tokens of a run see what came before them; the
// first lane computes them all, and then renews the state.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "exp.glsl"

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { float x[]; };            // (n_channel, n_tokens)
layout(binding = 1) readonly buffer Weight { float weights[]; }; // (n_back + 1, n_channel)
layout(binding = 2) buffer State { float state[]; };             // (n_channel, n_back, n_seq)
layout(binding = 3) readonly buffer Seq { int seqs[]; };
layout(binding = 4) readonly buffer Pos { int positions[]; };
layout(binding = 5) writeonly buffer Out { float result[]; };    // (n_channel, n_tokens)
layout(binding = 6) buffer Kept { float kept[]; };               // (n_channel, n_places, n_seq)
layout(binding = 7) readonly buffer From { int froms[]; };
layout(binding = 8) readonly buffer To { int tos[]; };
layout(push_constant) uniform Push {
  uint n_tokens;
  uint n_channel;
  uint n_back;
  uint n_places;
  uint x_at, weight_at, state_at, seq_at, pos_at, out_at, kept_at, from_at, to_at;  // elements
} push;

#include "runs.glsl"

uint channel;

float x_of(uint token) { return x[push.x_at + token * push.n_channel + channel]; }
float weight_of(uint tap) { return weights[push.weight_at + channel * (push.n_back + 1) + tap]; }
void store(uint token, float sum) { result[push.out_at + token * push.n_channel + channel] = silu(sum); }

uint kept_at(Way way, uint p) { return push.kept_at + place_of(way, p) * push.n_channel + channel; }

// Where the state keeps its i-th input.
uint state_at(Way way, uint i) {
  return push.state_at + (way.seq * push.n_back + i) * push.n_channel + channel;
}

// The input at position p - n_back: of the run, of what was kept, or of the state.
float input_of_run(Way way, uint p) {
  if (p >= way.pos + push.n_back) return x_of(way.first + p - push.n_back - way.pos);
  if (p >= way.from + push.n_back) return kept[kept_at(way, p - push.n_back)];
  return way.from == 0 ? 0.0 : state[state_at(way, p - way.from)];
}

void begin_run(uint first) {
  const Way way = way_of(first);
  for (uint p = way.pos; p < min(way.end, way.pos + push.n_back); ++p) {
    float sum = 0;
    for (uint tap = 0; tap <= push.n_back; ++tap) sum += weight_of(tap) * input_of_run(way, p + tap);
    store(first + p - way.pos, sum);
  }
  // In ascending order: each input is read before its place is written.
  for (uint i = 0; i < push.n_back; ++i) state[state_at(way, i)] = input_of_run(way, way.to + i);
  for (uint p = max(way.pos, way.to); p < way.end; ++p) {
    kept[kept_at(way, p)] = input_of_run(way, p + push.n_back);
  }
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n_tokens * push.n_channel) return;
  const uint token = i / push.n_channel;
  channel = i % push.n_channel;
  uint n_before = 0;  // tokens of the run before this one, at most n_back
  while (n_before < push.n_back && !starts_run(token - n_before)) ++n_before;
  if (n_before == push.n_back) {
    float sum = 0;
    for (uint tap = 0; tap <= push.n_back; ++tap) sum += weight_of(tap) * x_of(token - push.n_back + tap);
    store(token, sum);
  } else if (n_before == 0) {
    begin_run(token);
  }
}
