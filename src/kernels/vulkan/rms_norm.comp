// One group per row: the sum of squares, then x / rms(x) * weight.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

layout(constant_id = 0) const uint kThreads = 128;
layout(local_size_x_id = 0) in;
#include "grid.glsl"
#include "norm.glsl"
#include "reduce_one.glsl"
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer Weight { float weight[]; };
layout(binding = 2) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint x_first, weight_first, out_first;
  float eps;
} push;

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint x_first = push.x_first + row * push.n;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    const float value = x[x_first + i];
    sum = added_square(sum, value);
  }
  sum = sum_of_group(sum);

  const float scale = norm_scale(sum, push.n, push.eps);
  const uint out_first = push.out_first + row * push.n;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    result[out_first + i] = normalised(x[x_first + i], scale, weight[push.weight_first + i]);
  }
}
