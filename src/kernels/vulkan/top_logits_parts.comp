// One group per part of a row: the highest logit, the sum of e^(logit - highest), whether one is no number or infinite,
// and the highest of each of kTopGroups groups of neighbouring invocations, for top_logits.comp.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kThreads = 128;  // a power of two
layout(local_size_x_id = 0) in;
#include "grid.glsl"
#include "top_logits.glsl"
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) writeonly buffer Parts { uint parts[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows, n_parts;
  uint x_first;
} push;

shared uint highest[kThreads];  // ranks
shared float sums[kThreads];
shared uint n_bad;

void main() {
  const uint thread = gl_LocalInvocationID.x, part = flat_group() % push.n_parts, row = flat_group() / push.n_parts;
  if (row >= push.n_rows) return;
  const uint row_first = push.x_first + row * push.n;
  const PartRange range = range_of_part(push.n, part, push.n_parts);
  if (thread == 0u) n_bad = 0u;
  float own = -kMostFinite, sum = 0.0;
  bool is_bad = false;
  for (uint first = range.first + thread; first < range.end; first += kAtOnce * kThreads) {
    float loaded[kAtOnce];
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j)
      loaded[j] = uintBitsToFloat(x[row_first + min(first + j * kThreads, range.end - 1u)]);
    float most = own;
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j) {  // the last one again where there is none
      is_bad = is_bad || is_no_finite(floatBitsToUint(loaded[j]));
      if (first + j * kThreads < range.end) most = max(most, loaded[j]);
    }
    sum *= exp(own - most);
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j)
      if (first + j * kThreads < range.end) sum += exp(loaded[j] - most);
    own = most;
  }
  highest[thread] = rank(floatBitsToUint(own));
  barrier();
  if (is_bad) atomicOr(n_bad, 1u);
  const uint lanes = kThreads / kTopGroups;
  for (uint n = lanes / 2u; n > 0u; n /= 2u) {
    barrier();
    if (thread % lanes < n) highest[thread] = max(highest[thread], highest[thread + n]);
  }
  barrier();
  const uint told = (row * push.n_parts + part) * kPartWords;
  if (thread < kTopGroups) parts[told + kPartGroups + thread] = highest[thread * lanes];
  uint most = 0u;
  for (uint group = 0u; group < kTopGroups; ++group) most = max(most, highest[group * lanes]);
  const float highest_of_part = value_of_rank(most);
  sums[thread] = sum * exp(own - highest_of_part);
  for (uint n = kThreads / 2u; n > 0u; n /= 2u) {
    barrier();
    if (thread < n) sums[thread] += sums[thread + n];
  }
  if (thread != 0u) return;
  parts[told + kPartHighest] = floatBitsToUint(highest_of_part);
  parts[told + kPartSum] = floatBitsToUint(sums[0]);
  parts[told + kPartIsBad] = n_bad;
}
