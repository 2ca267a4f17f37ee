// One group per row: its k highest logits in their order, the lowest index of equals first, and the sum of e^(logit -
// highest) of all; -1 where one is no number or infinite. Every invocation looks at some elements, and no fewer than k
// are as high as the k-th of what they have met as the highest, and hardly more: these are sorted.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kThreads = 128;
layout(local_size_x_id = 0) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { uint x[]; };  // the bits: what is no number is told by them
layout(binding = 1) buffer Out { uint result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint x_first, out_first;
  uint k;
} push;

const uint kAll = 0xffffffffu;
const uint kMostFound = 1024u;
const uint kAtOnce = 8u;  // elements that are loaded before the first is looked at, which hides the latency of memory
shared uint counts[kThreads];
shared uint found[kMostFound], found_at[kMostFound];  // rank and index
shared uint kth;

// Unsigned numbers in the order of floats, both zeros being equal; 0 is none of them.
uint rank(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

// How much the invocations up to this one have; all of them: n_all().
uint n_up_to(uint own) {
  const uint thread = gl_LocalInvocationID.x;
  barrier();
  counts[thread] = own;
  for (uint n = 1u; n < kThreads; n *= 2u) {
    barrier();
    const uint before = thread >= n ? counts[thread - n] : 0u;
    barrier();
    counts[thread] += before;
  }
  barrier();
  return counts[thread];
}
uint n_all() { return counts[kThreads - 1u]; }

// Whether an element is above the least rank, or has it and an index of up to `most_at`.
bool is_taken(uint own, uint i, uint least, uint most_at) { return own > least || (own == least && i <= most_at); }

uint n_taken(uint row_first, uint least, uint most_at) {
  uint n_own = 0u;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads)
    n_own += is_taken(rank(x[row_first + i]), i, least, most_at) ? 1u : 0u;
  return n_own;
}

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint row_first = push.x_first + row * push.n;
  const uint told = push.out_first + row * (2u + 2u * push.k);
  uint own = 0u, n_bad = 0u;
  for (uint first = thread; first < push.n; first += kAtOnce * kThreads) {
    uint loaded[kAtOnce];
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j) loaded[j] = x[row_first + min(first + j * kThreads, push.n - 1u)];
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j) {  // the last one again where there is none
      if ((loaded[j] & 0x7f800000u) == 0x7f800000u) n_bad = 1u;
      if (first + j * kThreads < push.n) own = max(own, rank(loaded[j]));
    }
  }
  n_up_to(n_bad);
  if (n_all() > 0u) {
    if (thread == 0u) result[told] = kAll;
    return;
  }

  barrier();
  counts[thread] = own;
  barrier();
  uint n_before = 0u;
  for (uint j = 0u; j < kThreads; ++j) n_before += is_taken(counts[j], j, own, thread) && j != thread ? 1u : 0u;
  if (n_before == push.k - 1u) kth = own;
  barrier();
  uint least = kth, most_at = kAll;
  uint n_own = own >= least ? n_taken(row_first, least, most_at) : 0u;
  uint end = n_up_to(n_own);
  if (n_all() > kMostFound) {  // invocations have met many of the highest, or many are equal
    uint above = kAll;         // of which there are fewer than k
    while (above - least > 1u) {
      const uint middle = least + (above - least) / 2u;
      n_up_to(n_taken(row_first, middle, kAll));
      if (n_all() >= push.k) {
        least = middle;
      } else {
        above = middle;
      }
    }
    uint from = 0u;
    most_at = push.n - 1u;
    while (from < most_at) {
      const uint middle = from + (most_at - from) / 2u;
      n_up_to(n_taken(row_first, least, middle));
      if (n_all() >= push.k) {
        most_at = middle;
      } else {
        from = middle + 1u;
      }
    }
    n_own = own >= least ? n_taken(row_first, least, most_at) : 0u;
    end = n_up_to(n_own);
  }

  const uint n_found = n_all();
  uint at = end - n_own;
  for (uint i = thread; i < push.n && at < end; i += kThreads) {
    const uint its = rank(x[row_first + i]);
    if (!is_taken(its, i, least, most_at)) continue;
    found[at] = its;
    found_at[at] = i;
    ++at;
  }
  barrier();
  for (uint i = thread; i < n_found; i += kThreads) {
    uint place = 0u;
    for (uint j = 0u; j < n_found; ++j)
      place += is_taken(found[j], found_at[j], found[i], found_at[i]) && j != i ? 1u : 0u;
    if (place >= push.k) continue;
    result[told + 2u + place] = found_at[i];
    result[told + 2u + push.k + place] = x[row_first + found_at[i]];
    if (place == 0u) kth = found_at[i];
  }

  barrier();
  const float highest = uintBitsToFloat(x[row_first + kth]);
  float sum = 0.0;
  for (uint first = thread; first < push.n; first += kAtOnce * kThreads) {
    float loaded[kAtOnce];
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j)
      loaded[j] = uintBitsToFloat(x[row_first + min(first + j * kThreads, push.n - 1u)]);
    [[unroll]] for (uint j = 0u; j < kAtOnce; ++j)
      if (first + j * kThreads < push.n) sum += exp(loaded[j] - highest);
  }
  counts[thread] = floatBitsToUint(sum);
  for (uint n = kThreads; n > 1u;) {
    barrier();
    const uint half_n = (n + 1u) / 2u;
    if (thread + half_n < n) {
      counts[thread] = floatBitsToUint(uintBitsToFloat(counts[thread]) + uintBitsToFloat(counts[thread + half_n]));
    }
    n = half_n;
  }
  if (thread == 0u) {
    result[told] = push.k;
    result[told + 1u] = counts[0];
  }
}
