// One group per head of q and of k: x / rms(x) * norm where there is one, then the rotation of its pairs, in place.
// Where the cache has plain formats, keys go into their pages instead, and values, a group for each head, beside them;
// otherwise kv_encode.comp follows.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

const uint kThreads = 64;
layout(local_size_x = kThreads) in;
layout(constant_id = 0) const bool kWrites = false;  // keys and values into their pages
layout(constant_id = 1) const uint kKFormat = 0;     // kv_unit.glsl
layout(constant_id = 2) const uint kVFormat = 0;
layout(constant_id = 3) const uint kMostDims = 1;    // of a head, where they are written
#include "grid.glsl"
#include "norm.glsl"
#include "reduce_one.glsl"
#include "turn.glsl"
layout(binding = 0) buffer Q { float q[]; };                     // (n_tokens, n_head, head_dim)
layout(binding = 1) buffer K { float k[]; };                     // (n_tokens, n_head_kv, head_dim)
layout(binding = 2) readonly buffer QNorm { float q_norm[]; };   // (head_dim)
layout(binding = 3) readonly buffer KNorm { float k_norm[]; };
layout(binding = 4) readonly buffer Angles { float angles[]; };  // (n_tokens, 2, n_pairs): cos, then sin
// See KvView, (n_head_kv, head_dim) each: where keys are equalised.
layout(binding = 5) readonly buffer KShift { float k_shift[]; };
layout(binding = 6) readonly buffer KScale { float k_scale[]; };
layout(binding = 7) readonly buffer QScale { float q_scale[]; };
layout(binding = 8) readonly buffer V { uint v[]; };             // (n_tokens, n_head_kv, head_dim_v), bits of floats
layout(binding = 9) readonly buffer Pos { int pos[]; };          // (n_tokens)
layout(binding = 10) readonly buffer Seq { int seq[]; };         // (n_tokens)
layout(binding = 11) readonly buffer PageTable { int page_table[]; };  // (n_seq, max_pages)
layout(binding = 12) buffer Pages { uint pages[]; };             // of one layer, as words
layout(push_constant) uniform Push {
  uint n;  // heads of all tokens
  uint q_first, k_first, v_first, q_norm_first, k_norm_first, angles_first;
  uint has_q_norm, has_k_norm;
  uint n_head, n_head_kv, head_dim, head_dim_v, n_pairs;
  uint a_stride;  // from pair to pair
  uint b_offset;  // from a to b of a pair
  float eps;
  uint has_equaliser;
  uint k_shift_first, k_scale_first, q_scale_first;
  uint pos_first, seq_first, table_first;
  uint max_pages, page_tokens;
  // In units of two bytes:
  uint page_halves;                // of a page
  uint k_first_half, v_first_half; // of the keys and values of page 0
  uint k_row_halves, v_row_halves; // of one head vector
} push;

// A key or value on its way to its page.
shared uint head_bits[kMostDims];
uint value_bits(uint i) { return head_bits[i]; }

#include "kv_unit.glsl"

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
    if (kWrites) {
      head_bits[i] = floatBitsToUint(moved);
    } else {
      k[first + i] = moved;
    }
  }
}

bool has_norm() { return (is_q ? push.has_q_norm : push.has_k_norm) != 0; }

float normalised(uint i) {
  if (!has_norm()) return stored(i);
  return normalised(stored(i), scale, is_q ? q_norm[push.q_norm_first + i] : k_norm[push.k_norm_first + i]);
}

void find_scale() {
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += kThreads)
    sum = added_square(sum, stored(i));
  sum = sum_of_group(sum);
  scale = norm_scale(sum, push.head_dim, push.eps);
}

void encode(uint token, uint head, uint format, uint head_dim, uint first_half, uint row_halves) {
  barrier();
  const uint position = uint(pos[push.pos_first + token]);
  const uint entry = uint(seq[push.seq_first + token]) * push.max_pages + position / push.page_tokens;
  const uint page = uint(page_table[push.table_first + entry]);
  const uint slot = head * push.page_tokens + position % push.page_tokens;
  const uint at = first_half + page * push.page_halves + slot * row_halves;
  const uint n_units = (head_dim + unit_elements(format) - 1) / unit_elements(format);
  for (uint unit = gl_LocalInvocationID.x; unit < n_units; unit += kThreads) write_unit(format, unit, head_dim, at);
}

void write_value(uint token, uint head) {
  const uint v_first = push.v_first + (token * push.n_head_kv + head) * push.head_dim_v;
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim_v; i += kThreads) head_bits[i] = v[v_first + i];
  encode(token, head, kVFormat, push.head_dim_v, push.v_first_half, push.v_row_halves);
}

void main() {
  const uint index = flat_group();
  if (index >= push.n) return;
  const uint n_heads = push.n_head + (kWrites ? 2 : 1) * push.n_head_kv;
  const uint token = index / n_heads;
  const uint head = index % n_heads;
  if (head >= push.n_head + push.n_head_kv) {
    write_value(token, head - push.n_head - push.n_head_kv);
    return;
  }
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
    const vec2 pair_turned = turned(vec2(normalised(a_at), normalised(a_at + push.b_offset)), vec2(cosine, sine));
    store(a_at, pair_turned.x);
    store(a_at + push.b_offset, pair_turned.y);
  }
  for (uint i = 2 * push.n_pairs + gl_LocalInvocationID.x; i < push.head_dim; i += kThreads) {
    store(i, normalised(i));
  }
  if (kWrites && !is_q)
    encode(token, head - push.n_head, kKFormat, push.head_dim, push.k_first_half, push.k_row_halves);
}
