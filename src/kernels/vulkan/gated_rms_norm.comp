// One group per row: the sum of squares, then x / rms(x) * weight * silu(gate).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"
#include "exp.glsl"

const uint kThreads = 64;  // rows are heads of a recurrent layer
layout(local_size_x = kThreads) in;
#include "grid.glsl"
#include "reduce_one.glsl"
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer Weight { float weight[]; };
layout(binding = 2) readonly buffer Gate { float gate[]; };
layout(binding = 3) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint x_first, weight_first, gate_first, out_first;
  float eps;
} push;

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint row_first = row * push.n;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    const float value = x[push.x_first + row_first + i];
    sum += value * value;
  }
  sum = sum_of_group(sum);

  const float scale = 1.0 / sqrt(sum / float(push.n) + push.eps);
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    const uint at = row_first + i;
    result[push.out_first + at] =
        x[push.x_first + at] * scale * weight[push.weight_first + i] * silu(gate[push.gate_first + at]);
  }
}
