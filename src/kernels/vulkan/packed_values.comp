// The second half of packed_attention: the softmax of scores, and what it makes of values.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(binding = 3) readonly buffer Scores { float scores[]; };  // scratch memory (n, n_rows)
layout(binding = 4) writeonly buffer Out { float result[]; };    // (n, head_dim)
layout(push_constant) uniform Push {
  uint n;
  uint bytes_at, row_bytes;
  uint out_first;
  uint n_rows;
  uint n_head, n_head_kv, n_batch;
  uint is_causal;
  int q_pos_base;
  uint head_dim;
  uint head_dim_v;  // stored values of a row
} push;

#include "packed.glsl"
#include "exp.glsl"

shared float weights[kLanes];

void main() {
  const uint vector = flat_group(), lane = gl_LocalInvocationID.x;
  if (vector >= push.n) return;
  load_v_levels();
  const int n_seen = push.q_pos_base + int(vector / push.n_head % push.n_batch) + 1;
  const uint n_visible = push.is_causal != 0 ? uint(clamp(n_seen, 0, int(push.n_rows))) : push.n_rows;
  const uint head_kv = vector % push.n_head / (push.n_head / push.n_head_kv);
  const uint sequence = vector / (push.n_head * push.n_batch);
  const uint first_row = (sequence * push.n_head_kv + head_kv) * push.n_rows;
  const uint score_at = vector * push.n_rows;

  float largest = n_visible > 0 ? scores[score_at] : 0;
  for (uint row = 1; row < n_visible; ++row) largest = max(largest, scores[score_at + row]);
  const bool sees_any = n_visible > 0 && !isinf(largest) && !isnan(largest);
  for (uint i = lane; i < kStored; i += kLanes) x[i] = 0;
  float sum = 0;
  for (uint block = 0; sees_any && block < n_visible; block += kLanes) {
    const uint n = min(kLanes, n_visible - block);
    barrier();
    weights[lane] = lane < n ? accurate_exp(scores[score_at + block + lane] - largest) : 0;
    barrier();
    for (uint i = 0; i < n; ++i) sum += weights[i];
    for (uint pair = lane; pair < (kStored + 1) / 2; pair += kLanes) {
      vec2 sums = vec2(0);
      for (uint i = 0; i < n; ++i)
        sums += weights[i] * load_v(push.bytes_at + (first_row + block + i) * push.row_bytes, pair);
      x[2 * pair] += sums.x;
      if (2 * pair + 1 < kStored) x[2 * pair + 1] += sums.y;
    }
  }
  barrier();
  from_stored_values();
  for (uint i = lane; i < push.head_dim; i += kLanes)
    result[push.out_first + vector * push.head_dim + i] = sees_any ? from_stored_value(i) / sum : 0;
}
