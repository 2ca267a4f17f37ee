// One group per row, behind top_logits_parts.comp: its k highest logits in their order, the lowest index of equals
// first, and the sum of e^(logit - highest) of all; -1 where one is no number or infinite. No fewer than k logits are as
// high as the k-th of what groups of invocations have met as their highest, and hardly more; all of them lie in groups
// that have met such a one. Those groups' are looked at again, and what is found is sorted.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kThreads = 128;
layout(constant_id = 1) const uint kPartThreads = 128;  // of top_logits_parts.comp
layout(local_size_x_id = 0) in;
#include "grid.glsl"
#include "top_logits.glsl"
layout(binding = 0) readonly buffer X { uint x[]; };  // the bits: what is no number is told by them
layout(binding = 1) readonly buffer Parts { uint parts[]; };
layout(binding = 2) buffer Out { uint result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows, n_parts;
  uint x_first, out_first;
  uint k;
} push;

const uint kMostParts = 32u;  // as many in top_logits.cpp
const uint kMostGroups = kMostParts * kTopGroups;
const uint kMostFound = 1024u;
const uint kGroupLanes = kPartThreads / kTopGroups;
shared uint highest[kMostGroups];                       // of each group, ranks
shared uint groups[kMostGroups], n_groups;              // that are looked at again
shared uint found[kMostFound], found_at[kMostFound];    // rank and index
shared uint n_met, lowest, n_bad;
shared float part_highest[kMostParts], part_sums[kMostParts];

// Whether an element is above the least rank, or has it and an index of up to `most_at`.
bool is_taken(uint own, uint i, uint least, uint most_at) { return own > least || (own == least && i <= most_at); }

// How many of the elements that are looked at again are taken; `keeps`: as many as there is room for are found.
uint look_again(uint row_first, uint least, uint most_at, bool keeps) {
  barrier();
  if (gl_LocalInvocationID.x == 0u) n_met = 0u;
  barrier();
  const uint lane = gl_LocalInvocationID.x % kGroupLanes;
  uint n_own = 0u;
  for (uint j = gl_LocalInvocationID.x / kGroupLanes; j < n_groups; j += kThreads / kGroupLanes) {
    const PartRange range = range_of_part(push.n, groups[j] / kTopGroups, push.n_parts);
    for (uint first = range.first + groups[j] % kTopGroups * kGroupLanes + lane; first < range.end;
         first += kAtOnce * kPartThreads) {
      uint loaded[kAtOnce];
      [[unroll]] for (uint e = 0u; e < kAtOnce; ++e)
        loaded[e] = x[row_first + min(first + e * kPartThreads, range.end - 1u)];
      [[unroll]] for (uint e = 0u; e < kAtOnce; ++e) {
        const uint i = first + e * kPartThreads, its = rank(loaded[e]);
        if (i >= range.end || !is_taken(its, i, least, most_at)) continue;
        ++n_own;
        if (!keeps) continue;
        const uint at = atomicAdd(n_met, 1u);
        if (at >= kMostFound) continue;
        found[at] = its;
        found_at[at] = i;
      }
    }
  }
  if (!keeps && n_own > 0u) atomicAdd(n_met, n_own);
  barrier();
  return n_met;
}

// Leaves the groups that are looked at again behind, and the rank that what is found has at least.
uint choose_groups() {
  const uint n_all = push.n_parts * kTopGroups;
  if (gl_LocalInvocationID.x == 0u) {
    n_groups = 0u;
    lowest = 0xffffffffu;
  }
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < n_all; i += kThreads) {
    const uint own = highest[i];
    uint n_above = 0u;
    for (uint first = 0u; first < n_all; first += kTopGroups) {
      [[unroll]] for (uint j = 0u; j < kTopGroups; ++j) n_above += highest[first + j] > own ? 1u : 0u;
    }
    if (n_above >= push.k) continue;
    groups[atomicAdd(n_groups, 1u)] = i;
    atomicMin(lowest, own);
  }
  barrier();
  return n_all < push.k ? 0u : lowest;  // where there are fewer groups than are wanted, all elements have room
}

// The rank that k elements or more have at least, but not k with a higher one, and the index up to which those that
// have it are wanted: where too many are as high as the k-th of the groups.
void narrow(uint row_first, inout uint least, out uint most_at) {
  uint above = 0xffffffffu;  // of which there are fewer than k
  while (above - least > 1u) {
    const uint middle = least + (above - least) / 2u;
    if (look_again(row_first, middle, 0xffffffffu, false) >= push.k) {
      least = middle;
    } else {
      above = middle;
    }
  }
  uint from = 0u;
  most_at = push.n - 1u;
  while (from < most_at) {
    const uint middle = from + (most_at - from) / 2u;
    if (look_again(row_first, least, middle, false) >= push.k) {
      most_at = middle;
    } else {
      from = middle + 1u;
    }
  }
}

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint row_first = push.x_first + row * push.n, parts_first = row * push.n_parts * kPartWords;
  const uint told = push.out_first + row * (2u + 2u * push.k);
  if (thread == 0u) n_bad = 0u;
  barrier();
  for (uint i = thread; i < push.n_parts * kTopGroups; i += kThreads)
    highest[i] = parts[parts_first + i / kTopGroups * kPartWords + kPartGroups + i % kTopGroups];
  if (thread < push.n_parts) {
    const uint first = parts_first + thread * kPartWords;
    part_highest[thread] = uintBitsToFloat(parts[first + kPartHighest]);
    part_sums[thread] = uintBitsToFloat(parts[first + kPartSum]);
    if (parts[first + kPartIsBad] != 0u) atomicOr(n_bad, 1u);
  }
  barrier();
  if (n_bad != 0u) {
    if (thread == 0u) result[told] = 0xffffffffu;
    return;
  }

  uint least = choose_groups(), most_at = 0xffffffffu;
  if (look_again(row_first, least, most_at, true) > kMostFound) {
    narrow(row_first, least, most_at);
    look_again(row_first, least, most_at, true);
  }
  const uint n_found = n_met;
  for (uint i = thread; i < n_found; i += kThreads) {
    uint place = 0u;
    for (uint j = 0u; j < n_found; ++j)
      place += is_taken(found[j], found_at[j], found[i], found_at[i]) && j != i ? 1u : 0u;
    if (place >= push.k) continue;
    result[told + 2u + place] = found_at[i];
    result[told + 2u + push.k + place] = x[row_first + found_at[i]];
  }

  if (thread != kThreads - 1u) return;  // which has found the least to do
  float most = part_highest[0], sum = 0.0;
  for (uint part = 1u; part < push.n_parts; ++part) most = max(most, part_highest[part]);
  for (uint part = 0u; part < push.n_parts; ++part) sum += part_sums[part] * exp(part_highest[part] - most);
  result[told] = push.k;
  result[told + 1u] = floatBitsToUint(sum);
}
