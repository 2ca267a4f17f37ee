// Puts together what main pages have yielded, as sums of stored values, and exact ones: a group for each head
// vector.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 0) const uint kTransform = 0;  // kv_transform.glsl, of the values in main pages
layout(constant_id = 1) const uint kStored = 128;   // dimensions of a stored value
const uint kLanes = 64;
layout(local_size_x = 64) in;

// Scratch memory: sums [n, n_vectors, n_parts] of each kind of pages, and their softmax [n_vectors, n_parts].
layout(binding = 0) readonly buffer Parts { float parts[]; };
layout(binding = 1) readonly buffer Softmax { vec2 softmax[]; };
layout(binding = 2) writeonly buffer Out { float result[]; };  // (n_vectors, head_dim)
layout(binding = 3) readonly buffer Constants { float constants[]; };
layout(binding = 4) readonly buffer Sketch { float sketch[]; };  // (128, 256)
layout(push_constant) uniform Push {
  uint main_at, main_softmax_at;  // elements, like all that follow
  uint exact_at, exact_softmax_at;
  uint out_at;
  uint head_dim;
  uint n_vectors;
  uint n_parts;        // of main pages
  uint n_exact_parts;  // 0: there are no exact pages
  uint rotated_block;
  float root;
} push;

shared float x[kStored];

#include "grid.glsl"
#include "kv_formats.glsl"
#include "kv_transform.glsl"
#include "kv_sketch.glsl"

void main() {
  const uint vector = flat_group();
  if (vector >= push.n_vectors) return;
  float largest = softmax[push.main_softmax_at + vector].x;
  for (uint part = 1; part < push.n_parts; ++part)
    largest = max(largest, softmax[push.main_softmax_at + part * push.n_vectors + vector].x);
  for (uint part = 0; part < push.n_exact_parts; ++part)
    largest = max(largest, softmax[push.exact_softmax_at + part * push.n_vectors + vector].x);

  float weight_sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < kStored; i += kLanes) x[i] = 0;
  for (uint part = 0; part < push.n_parts; ++part) {
    const vec2 of_part = softmax[push.main_softmax_at + part * push.n_vectors + vector];
    if (floatBitsToUint(of_part.y) == 0) continue;  // NaN is not passed over
    const float weight = exp(of_part.x - largest);
    weight_sum += weight * of_part.y;
    const uint at = push.main_at + (part * push.n_vectors + vector) * kStored;
    for (uint i = gl_LocalInvocationID.x; i < kStored; i += kLanes) x[i] += weight * parts[at + i];
  }
  barrier();
  from_stored(kTransform, kTransform < kSketch ? kStored : 0, push.rotated_block, push.root);

  float of_exact[32];  // weights of parts
  for (uint part = 0; part < push.n_exact_parts; ++part) {
    const vec2 of_part = softmax[push.exact_softmax_at + part * push.n_vectors + vector];
    of_exact[part] = of_part.y == 0 ? 0 : exp(of_part.x - largest);
    weight_sum += of_exact[part] * of_part.y;
  }
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += kLanes) {
    float value = kTransform < kSketch ? x[i] : from_sketch(i);
    for (uint part = 0; part < push.n_exact_parts; ++part)
      if (of_exact[part] != 0)
        value += of_exact[part] * parts[push.exact_at + (part * push.n_vectors + vector) * push.head_dim + i];
    result[push.out_at + vector * push.head_dim + i] = value / weight_sum;
  }
}
