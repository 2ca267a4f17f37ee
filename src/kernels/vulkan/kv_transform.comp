// Head vectors as they meet stored keys: a group for each.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kTransform = 1;  // kv_transform.glsl
layout(constant_id = 1) const uint kHeadDim = 128;
const uint kLanes = 64;
layout(local_size_x = 64) in;

layout(binding = 0) readonly buffer Source { float source[]; };  // (n, head_dim)
layout(binding = 1) writeonly buffer Stored { float stored[]; };
layout(binding = 2) readonly buffer Constants { float constants[]; };
layout(binding = 3) readonly buffer Sketch { float sketch[]; };  // (128, 256)
layout(push_constant) uniform Push {
  uint n;
  uint source_first, stored_first;
  uint rotated_block;
  float root;
} push;

shared float x[kHeadDim];

#include "grid.glsl"
#include "kv_formats.glsl"
#include "kv_transform.glsl"
#include "kv_sketch.glsl"

void main() {
  const uint vector = flat_group();
  if (vector >= push.n) return;
  for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += kLanes)
    x[i] = source[push.source_first + vector * kHeadDim + i];
  barrier();
  if (kTransform < kSketch) {
    to_stored(kTransform, kHeadDim, push.rotated_block, push.root);
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += kLanes)
      stored[push.stored_first + vector * kHeadDim + i] = x[i];
    return;
  }
  for (uint j = gl_LocalInvocationID.x; j < 2 * kHeadDim; j += kLanes)
    stored[push.stored_first + vector * 2 * kHeadDim + j] = to_sketch(j);
}
