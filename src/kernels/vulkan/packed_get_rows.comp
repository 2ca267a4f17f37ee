// packed_get_rows: head vectors of packed rows.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(binding = 3) readonly buffer Rows { int rows[]; };
layout(binding = 4) writeonly buffer Out { float result[]; };  // (n, head_dim)
layout(push_constant) uniform Push {
  uint n;
  uint bytes_at, row_bytes;
  uint rows_first, out_first;
  uint head_dim;
  uint head_dim_v;  // stored values of a row
} push;

#include "packed.glsl"

void main() {
  const uint vector = flat_group();
  if (vector >= push.n) return;
  load_v_levels();
  barrier();
  const uint row = push.bytes_at + uint(rows[push.rows_first + vector]) * push.row_bytes;
  for (uint pair = gl_LocalInvocationID.x; pair < (kStored + 1) / 2; pair += kLanes) {
    const vec2 values = load_v(row, pair);
    x[2 * pair] = values.x;
    if (2 * pair + 1 < kStored) x[2 * pair + 1] = values.y;
  }
  barrier();
  from_stored_values();
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += kLanes)
    result[push.out_first + vector * push.head_dim + i] = from_stored_value(i);
}
