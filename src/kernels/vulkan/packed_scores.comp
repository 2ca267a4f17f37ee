// packed_scores: inner products of a query with the rows that it reads.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(binding = 3) readonly buffer Q { float q[]; };          // (n, n_q)
layout(binding = 4) writeonly buffer Out { float result[]; };  // (n, n_rows)
layout(push_constant) uniform Push {
  uint n;  // queries: of all heads of all tokens of all sequences
  uint bytes_at, row_bytes;
  uint q_first, out_first;
  uint n_q;  // values of a query
  uint n_rows;
  uint n_head, n_head_kv, n_batch;
  uint is_stored, is_rounded;
  float factor, scale;
  uint head_dim_v;  // stored values of a row
} push;

#include "packed.glsl"
#include "exact.glsl"

shared float query[kStored];

// To bytes, each sketch by itself: see quant/sketch_int8.h.
void round_query() {
  for (uint first = 0; first + kSketchOut <= kStored; first += kSketchOut) {
    float largest = 0;
    for (uint j = 0; j < kSketchOut; ++j) largest = max(largest, abs(query[first + j]));
    const float scale = largest > 0 ? divided(largest, 127) : 1;
    const float inverse = divided(1, scale);
    barrier();
    for (uint j = gl_LocalInvocationID.x; j < kSketchOut; j += kLanes) {
      precise const float code = query[first + j] * inverse;
      query[first + j] = scale * clamp(roundEven(code), -127.0, 127.0);
    }
    barrier();
  }
}

void main() {
  const uint vector = flat_group();
  if (vector >= push.n) return;
  load_v_levels();
  for (uint i = gl_LocalInvocationID.x; i < push.n_q; i += kLanes) x[i] = q[push.q_first + vector * push.n_q + i];
  barrier();
  if (push.is_stored == 0) to_stored(kTransform, kTransform < kSketch ? kStored : 0, 1, 1);
  for (uint j = gl_LocalInvocationID.x; j < kStored; j += kLanes)
    query[j] = push.is_stored == 0 && kTransform >= kSketch ? to_sketch(j) : x[j];
  barrier();
  if (push.is_rounded != 0) round_query();

  const uint head_kv = vector % push.n_head / (push.n_head / push.n_head_kv);
  const uint sequence = vector / (push.n_head * push.n_batch);
  const uint first_row = (sequence * push.n_head_kv + head_kv) * push.n_rows;
  for (uint row = gl_LocalInvocationID.x; row < push.n_rows; row += kLanes) {
    const uint at = push.bytes_at + (first_row + row) * push.row_bytes;
    vec2 sums = vec2(0);
    for (uint pair = 0; pair < (kStored + 1) / 2; ++pair) {
      const vec2 values = load_v(at, pair);
      const uint second = min(2 * pair + 1, kStored - 1);  // what is read beyond the last is zero
      sums += values * vec2(query[2 * pair], query[second]);
    }
    precise const float score = (sums.x + sums.y) * push.factor;
    result[push.out_first + vector * push.n_rows + row] = score * push.scale;
  }
}
