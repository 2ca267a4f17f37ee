// One group per head of q and of k: x / rms(x) * norm where there is one, then the rotation of its pairs, in place.
// kv_write.comp follows.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

const uint kThreads = 64;
layout(local_size_x = kThreads) in;
#include "grid.glsl"
#include "reduce_one.glsl"
layout(binding = 0) buffer Q { float q[]; };                     // (n_tokens, n_head, head_dim)
layout(binding = 1) buffer K { float k[]; };                     // (n_tokens, n_head_kv, head_dim)
layout(binding = 2) readonly buffer QNorm { float q_norm[]; };   // (head_dim)
layout(binding = 3) readonly buffer KNorm { float k_norm[]; };
layout(binding = 4) readonly buffer Angles { float angles[]; };  // (n_tokens, 2, n_pairs): cos, then sin
// See KvView, (n_head_kv, head_dim) each: where keys are equalised.
layout(binding = 5) readonly buffer KShift { float k_shift[]; };
layout(binding = 6) readonly buffer KScale { float k_scale[]; };
layout(binding = 7) readonly buffer QScale { float q_scale[]; };
layout(push_constant) uniform Push {
  uint n;  // heads of all tokens
  uint q_first, k_first, q_norm_first, k_norm_first, angles_first;
  uint has_q_norm, has_k_norm;
  uint n_head, n_head_kv, head_dim, n_pairs;
  uint a_stride;  // from pair to pair
  uint b_offset;  // from a to b of a pair
  float eps;
  uint has_equaliser;
  uint k_shift_first, k_scale_first, q_scale_first;
} push;

bool is_q;
uint first;  // of the head
uint first_of_equaliser;  // of the KV head
float scale;

float stored(uint i) { return is_q ? q[first + i] : k[first + i]; }

void store(uint i, float value) {
  const uint at = first_of_equaliser + i;
  if (is_q) {
    precise const float scaled = push.has_equaliser != 0 ? value * q_scale[push.q_scale_first + at] : value;
    q[first + i] = scaled;
  } else {
    precise float moved = value;
    if (push.has_equaliser != 0) moved = (value - k_shift[push.k_shift_first + at]) * k_scale[push.k_scale_first + at];
    k[first + i] = moved;
  }
}

bool has_norm() { return (is_q ? push.has_q_norm : push.has_k_norm) != 0; }

float normalised(uint i) {
  if (!has_norm()) return stored(i);
  return stored(i) * scale * (is_q ? q_norm[push.q_norm_first + i] : k_norm[push.k_norm_first + i]);
}

void find_scale() {
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += kThreads) {
    const float value = stored(i);
    sum += value * value;
  }
  sum = sum_of_group(sum);
  scale = 1.0 / sqrt(sum / float(push.head_dim) + push.eps);
}

void main() {
  const uint index = flat_group();
  if (index >= push.n) return;
  const uint n_heads = push.n_head + push.n_head_kv;
  const uint token = index / n_heads;
  const uint head = index % n_heads;
  is_q = head < push.n_head;
  first = is_q ? push.q_first + (token * push.n_head + head) * push.head_dim
               : push.k_first + (token * push.n_head_kv + head - push.n_head) * push.head_dim;
  const uint head_kv = is_q ? head / (push.n_head / push.n_head_kv) : head - push.n_head;
  first_of_equaliser = head_kv * push.head_dim;
  scale = 1.0;
  if (has_norm()) find_scale();

  const uint cosine_first = push.angles_first + token * 2 * push.n_pairs;
  for (uint pair = gl_LocalInvocationID.x; pair < push.n_pairs; pair += kThreads) {
    const float cosine = angles[cosine_first + pair];
    const float sine = angles[cosine_first + push.n_pairs + pair];
    const uint a_at = pair * push.a_stride;
    const float a = normalised(a_at);
    const float b = normalised(a_at + push.b_offset);
    store(a_at, a * cosine - b * sine);
    store(a_at + push.b_offset, a * sine + b * cosine);
  }
  for (uint i = 2 * push.n_pairs + gl_LocalInvocationID.x; i < push.head_dim; i += kThreads) {
    store(i, normalised(i));
  }
}
