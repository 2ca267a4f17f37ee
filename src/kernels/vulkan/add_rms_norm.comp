// One group per row: h += y and the sum of its squares, then h / rms(h) * weight.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

layout(constant_id = 0) const uint kThreads = 128;
layout(local_size_x_id = 0) in;
#include "grid.glsl"
#include "norm.glsl"
#include "reduce_one.glsl"
layout(binding = 0) buffer H { float h[]; };
layout(binding = 1) readonly buffer Y { float y[]; };
layout(binding = 2) readonly buffer Weight { float weight[]; };
layout(binding = 3) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint h_first, y_first, weight_first, out_first;
  float eps;
} push;

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint h_first = push.h_first + row * push.n;
  const uint y_first = push.y_first + row * push.n;
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    const float value = h[h_first + i] + y[y_first + i];
    h[h_first + i] = value;
    sum = added_square(sum, value);
  }
  sum = sum_of_group(sum);

  const float scale = norm_scale(sum, push.n, push.eps);
  const uint out_first = push.out_first + row * push.n;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {  // the elements that it wrote itself
    result[out_first + i] = normalised(h[h_first + i], scale, weight[push.weight_first + i]);
  }
}
