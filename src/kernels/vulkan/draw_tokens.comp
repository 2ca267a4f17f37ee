// One group of 128 invocations per row, each of which has one of the logits that are told, highest first: the token that
// a sampler will likely draw.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;  // as many as are told of a row at most
#include "exp.glsl"
#include "grid.glsl"
layout(binding = 0) readonly buffer Told { int told[]; };
layout(binding = 1) readonly buffer Draws { int draws[]; };  // temperature, top_p, min_p, random, top_k of all rows
layout(binding = 2) buffer Tokens { int tokens[]; };
layout(push_constant) uniform Push {
  uint n_rows;
  uint n_told;       // numbers of a row
  uint draws_of_all;  // rows that there is room for
  uint told_first, draws_first, tokens_first;
} push;

shared float sums[128];  // of the weights up to each
shared uint n_before;    // of the first that is not

int draw(uint row, uint word) { return draws[push.draws_first + word * push.draws_of_all + row]; }
float draw_float(uint row, uint word) { return intBitsToFloat(draw(row, word)); }

void add_up(float weight) {
  const uint i = gl_LocalInvocationID.x;
  barrier();
  sums[i] = weight;
  for (uint distance = 1u; distance < 128u; distance *= 2u) {
    barrier();
    const float before = i >= distance ? sums[i - distance] : 0.0;
    barrier();
    sums[i] += before;
  }
  barrier();
}

uint count_until(bool is) {
  barrier();
  if (gl_LocalInvocationID.x == 0u) n_before = 128u;
  barrier();
  if (!is) atomicMin(n_before, gl_LocalInvocationID.x);
  barrier();
  return n_before;
}

void main() {
  const uint row = flat_group(), i = gl_LocalInvocationID.x;
  if (row >= push.n_rows) return;
  const uint first = push.told_first + row * push.n_told;
  const float temperature = draw_float(row, 0u), top_p = draw_float(row, 1u), min_p = draw_float(row, 2u);
  const float random = draw_float(row, 3u);
  if (push.n_told == 1u || told[first] < 0 || !(temperature > 0.0)) {
    const int token = told[first + (push.n_told == 1u || told[first] < 0 ? 0u : 2u)];
    if (i == 0u) tokens[push.tokens_first + row] = max(token, 0);
    return;
  }
  const uint k = push.n_told / 2u - 1u, top_k = uint(draw(row, 4u));
  const uint n = top_k > 0u ? min(top_k, k) : k;
  const uint logits = first + 2u + k;
  const float below = intBitsToFloat(told[logits + min(i, n - 1u)]) - intBitsToFloat(told[logits]);
  const float weight = i < n ? accurate_exp(below) : 0.0;
  add_up(weight);
  const bool is_within = top_p >= 1.0 || sums[i] - weight < top_p * sums[127];
  const uint n_left = count_until(i == 0u || (i < n && weight >= min_p && is_within));
  add_up(i < n_left ? accurate_exp(below / temperature) : 0.0);
  const uint drawn = min(count_until(!(sums[i] > random * sums[127])), n_left - 1u);
  if (i == 0u) tokens[push.tokens_first + row] = told[first + 2u + drawn];
}
