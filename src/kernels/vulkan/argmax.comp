// One group per row: the index of its largest element, the first of equal ones; -1 where one is no number or infinite.
// Where it is wanted, its share of the sum of all elements' powers. Of another rank, the one behind that of the rank before.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kThreads = 128;
layout(local_size_x_id = 0) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { uint x[]; };  // the bits: what is no number is told by them
layout(binding = 1) buffer Out { int result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint x_first, out_first;
  uint n_told;  // numbers of a row: 1, or twice as many as there are ranks: the share, too
  uint rank;
} push;

const uint kNone = 0xffffffffu;
const uint kAtOnce = 8;  // elements that are loaded before the first is looked at, which hides the latency of memory
shared uint largest[kThreads];  // in an order of their own: see rank()
shared uint at[kThreads];       // kNone: one is no number

// Unsigned numbers in the order of floats, both zeros being equal.
uint rank(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint row_first = push.x_first + row * push.n;
  const uint told = push.out_first + row * push.n_told + 2u * push.rank;
  const int before = push.rank > 0u ? result[told - 2u] : -1;
  const uint most_rank = before < 0 ? kNone : rank(x[row_first + uint(before)]);  // what is behind has no higher one
  uint own = 0u, own_at = push.n;  // less than any, and behind all
  for (uint first = thread; first < push.n; first += kAtOnce * kThreads) {
    uint loaded[kAtOnce];
    [[unroll]] for (uint j = 0; j < kAtOnce; ++j) loaded[j] = x[row_first + min(first + j * kThreads, push.n - 1)];
    [[unroll]] for (uint j = 0; j < kAtOnce; ++j) {
      const uint i = first + j * kThreads, bits = loaded[j];
      if (i >= push.n) break;
      if (before >= 0 && (rank(bits) > most_rank || (rank(bits) == most_rank && i <= uint(before)))) continue;
      if ((bits & 0x7f800000u) == 0x7f800000u) own_at = kNone;
      if (own_at != kNone && rank(bits) > own) {
        own = rank(bits);
        own_at = i;
      }
    }
  }
  largest[thread] = own;
  at[thread] = own_at;
  for (uint n = kThreads; n > 1u;) {
    barrier();
    const uint half_n = (n + 1u) / 2u;
    if (thread + half_n < n) {
      const uint other = largest[thread + half_n], other_at = at[thread + half_n];
      if (at[thread] == kNone || other_at == kNone) {
        at[thread] = kNone;
      } else if (other > largest[thread] || (other == largest[thread] && other_at < at[thread])) {
        largest[thread] = other;
        at[thread] = other_at;
      }
    }
    n = half_n;
  }
  const bool is_bad = at[0] == kNone || at[0] == push.n || (push.rank > 0u && before < 0);
  if (thread == 0u) result[told] = is_bad ? -1 : int(at[0]);
  if (push.n_told < 2u) return;
  if (push.rank > 0u) {
    if (thread != 0u) return;
    const float share = intBitsToFloat(result[told - 1u]);
    const float less = is_bad ? 0.0 : uintBitsToFloat(x[row_first + at[0]]) - uintBitsToFloat(x[row_first + uint(before)]);
    result[told + 1u] = is_bad ? 0 : floatBitsToInt(share * exp(less));
    return;
  }

  barrier();
  const float most = is_bad ? 0.0 : uintBitsToFloat(x[row_first + at[0]]);
  float sum = 0.0;
  for (uint i = thread; i < push.n; i += kThreads) sum += exp(uintBitsToFloat(x[row_first + i]) - most);
  barrier();
  largest[thread] = floatBitsToUint(sum);
  for (uint n = kThreads; n > 1u;) {
    barrier();
    const uint half_n = (n + 1u) / 2u;
    if (thread + half_n < n) {
      largest[thread] =
          floatBitsToUint(uintBitsToFloat(largest[thread]) + uintBitsToFloat(largest[thread + half_n]));
    }
    n = half_n;
  }
  if (thread == 0u) result[told + 1u] = is_bad ? 0 : floatBitsToInt(1.0 / uintBitsToFloat(largest[0]));
}
