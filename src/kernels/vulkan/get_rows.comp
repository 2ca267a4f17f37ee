#version 450
// get_rows: one lane for 32 values of a block type, or for one value of a float type.
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

#include "grid.glsl"
#include "weights.glsl"

layout(set = 0, binding = 2, std430) readonly restrict buffer Rows { int rows[]; };
layout(set = 0, binding = 3, std430) writeonly restrict buffer Out { float result[]; };  // [n, n_out]

layout(push_constant) uniform Push {
  uint table_at;  // bytes
  uint row_bytes;
  uint rows_at;  // elements
  uint out_at;   // elements
  uint n;
  uint n_out;
  uint first_row;  // that this launch is about
  uint n_rows;     // likewise; table_at is where the first of them starts
} push;

void main() {
  const uint per_lane = kIsFloat ? 1 : 32;
  const uint lanes_of_row = push.n / per_lane;
  const uint lane = flat_invocation();
  const uint i = lane / lanes_of_row;
  if (i >= push.n_out) return;
  const uint part = lane % lanes_of_row;
  const uint row_number = uint(rows[push.rows_at + i]) - push.first_row;
  if (row_number >= push.n_rows) return;
  const uint row = push.table_at + row_number * push.row_bytes;
  const uint at = push.out_at + i * push.n + part * per_lane;
  if (kIsFloat) {
    result[at] = load_float(row, part);
    return;
  }
  const Run run = load_run(row, part);
  [[unroll]] for (uint v = 0; v < 32; ++v) result[at + v] = value_of(run, v);
}
