#version 450
// Puts the parts of attention.comp together: each part's sums are weighed by what its scores weigh under the
// softmax of all parts. One lane for one value.
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

#include "grid.glsl"

// [head_dim_v, n_vectors, n_parts]
layout(set = 0, binding = 0, std430) readonly restrict buffer Parts { float parts[]; };
// [n_vectors, n_parts]
layout(set = 0, binding = 1, std430) readonly restrict buffer Softmax { vec2 softmax[]; };
// [head_dim_v, n_vectors]
layout(set = 0, binding = 2, std430) writeonly restrict buffer Out { float result[]; };

layout(push_constant) uniform Push {
  uint parts_at;  // elements, like all that follow
  uint softmax_at;
  uint out_at;
  uint head_dim_v;
  uint n_vectors;  // heads of all tokens
  uint n_parts;
} push;

void main() {
  const uint i = flat_invocation();
  const uint n = push.head_dim_v * push.n_vectors;
  if (i >= n) return;
  const uint vector = push.softmax_at + i / push.head_dim_v;
  float largest = softmax[vector].x;
  for (uint part = 1; part < push.n_parts; ++part)
    largest = max(largest, softmax[vector + part * push.n_vectors].x);
  float sum = 0;
  float weight_sum = 0;
  for (uint part = 0; part < push.n_parts; ++part) {
    const vec2 of_part = softmax[vector + part * push.n_vectors];
    const float weight = exp(of_part.x - largest);
    sum += weight * parts[push.parts_at + part * n + i];
    weight_sum += weight * of_part.y;
  }
  result[push.out_at + i] = sum / weight_sum;
}
