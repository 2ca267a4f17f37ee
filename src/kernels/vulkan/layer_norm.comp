// One group per row: its mean, then its deviation, then (x - mean) / deviation * weight + bias.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

const uint kThreads = 128;
layout(local_size_x = 128) in;
#include "grid.glsl"
#include "reduce_one.glsl"
#include "exact.glsl"
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer Weight { float weight[]; };
layout(binding = 2) readonly buffer Bias { float bias[]; };
layout(binding = 3) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push {
  uint n;  // elements of a row
  uint n_rows;
  uint x_first, weight_first, bias_first, out_first;
  float eps;
} push;

void main() {
  const uint row = flat_group();
  if (row >= push.n_rows) return;
  const uint x_first = push.x_first + row * push.n;
  float sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) sum += x[x_first + i];
  const float mean = divided(sum_of_group(sum), float(push.n));
  barrier();  // behind the last that read the sum
  float squares = 0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    const float distance = x[x_first + i] - mean;
    squares += distance * distance;
  }
  const float scale = 1 / sqrt(sum_of_group(squares) / float(push.n) + push.eps);
  const uint out_first = push.out_first + row * push.n;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads) {
    result[out_first + i] =
        (x[x_first + i] - mean) * scale * weight[push.weight_first + i] + bias[push.bias_first + i];
  }
}
