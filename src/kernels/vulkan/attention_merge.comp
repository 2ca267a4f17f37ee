#version 450
// Puts the parts of attention.comp together, on devices whose groups cannot do so when they are done. One lane for one
// value.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

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

vec2 softmax_of_part(uint part, uint vector) { return softmax[push.softmax_at + part * push.n_vectors + vector]; }
float sum_of_part(uint part, uint vector, uint dimension) {
  return parts[push.parts_at + (part * push.n_vectors + vector) * push.head_dim_v + dimension];
}

#include "attention_parts.glsl"

void main() {
  const uint i = flat_invocation();
  if (i >= push.head_dim_v * push.n_vectors) return;
  result[push.out_at + i] = put_together(i / push.head_dim_v, i % push.head_dim_v, push.n_parts);
}
