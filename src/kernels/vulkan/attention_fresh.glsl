// For attention.glsl: a token alone, whose queries, key and value are as the products left them. Each group norms and
// rotates the queries of its heads; that of the last part also the key, and writes it and the value into their page,
// where it finds them afterwards. The bits are those of norm_rope_write.comp.

layout(constant_id = 12) const bool kHasQNorm = false;
layout(constant_id = 13) const bool kHasKNorm = false;
layout(constant_id = 14) const uint kPairs = 0;    // of a head, that are turned
layout(constant_id = 15) const uint kAStride = 1;  // from pair to pair
layout(constant_id = 16) const uint kBOffset = 0;  // from a to b of a pair

layout(set = 0, binding = 13, std430) readonly restrict buffer QNorm { float q_norm[]; };  // [head_dim_k]
layout(set = 0, binding = 14, std430) readonly restrict buffer KNorm { float k_norm[]; };

// Key and value on their way to their pages.
const uint kKDims = kKPieces * 16, kVDims = 2 * kVPairs;
shared uint head_bits[kKDims + kVDims];
uint first_bits;  // of the one that is written
uint value_bits(uint i) { return head_bits[first_bits + i]; }

#define pages kv_words
#include "kv_unit.glsl"
#undef pages

#include "norm.glsl"
#include "turn.glsl"

// Heads are normed by teams as large as the groups of norm_rope_write.comp. The key is behind the tile's queries.
const uint kTeamLanes = 64, kTeams = kLanes / kTeamLanes;
const uint kHeads = kRows + 1, kKey = kRows;
const uint kThreads = kLanes, kTeamValues = (kHeads + kTeams - 1) / kTeams;
#include "team_sums.glsl"

bool has_norm(uint head) { return head == kKey ? kHasKNorm : kHasQNorm; }

// Queries, key, value and angles lie in one buffer.
uint first_of_head(uint head) {
  return head == kKey ? push.k_at + head_kv * push.head_dim_k : push.q_at + vector_of(head) * push.head_dim_k;
}

float scale_of(uint head) {
  if (!has_norm(head)) return 1;
  return norm_scale(sum_of_team(head % kTeams, head / kTeams, kTeamLanes), push.head_dim_k, push.eps);
}

void find_scales(bool takes_key) {
  float sums[kTeamValues];
  const uint team = gl_LocalInvocationID.x / kTeamLanes;
  [[unroll]] for (uint i = 0; i < kTeamValues; ++i) {
    const uint head = i * kTeams + team;
    sums[i] = 0;
    if (head > kKey || (head == kKey ? !takes_key : !exists(head))) continue;
    for (uint d = gl_LocalInvocationID.x % kTeamLanes; d < push.head_dim_k; d += kTeamLanes)
      sums[i] = added_square(sums[i], q[first_of_head(head) + d]);
  }
  add_up(sums, kTeamValues, kTeamLanes);
}

float normed(uint head, float scale, uint d) {
  const float value = q[first_of_head(head) + d];
  if (!has_norm(head)) return value;
  return normalised(value, scale, head == kKey ? k_norm[push.k_norm_at + d] : q_norm[push.q_norm_at + d]);
}

void put(uint head, uint d, float value) {
  if (head == kKey) {
    head_bits[d] = floatBitsToUint(value);
  } else {
    const uint i = head * kKPieces * 16 + d;
    q_tile[i / 4][i % 4] = value * push.scale;
  }
}

// Pairs and what is not turned, each as one item.
void turn(uint head, uint item) {
  const float scale = scale_of(head);
  if (item >= kPairs) {
    put(head, kPairs + item, normed(head, scale, kPairs + item));
    return;
  }
  const uint a = item * kAStride, b = a + kBOffset;
  const vec2 angle = vec2(q[push.angles_at + item], q[push.angles_at + kPairs + item]);
  const vec2 pair = turned(vec2(normed(head, scale, a), normed(head, scale, b)), angle);
  put(head, a, pair.x);
  put(head, b, pair.y);
}

void write_key_and_value() {
  const uint page = page_table[push.page_table_at + uint(seqs[push.seq_at]) * push.max_pages +
                               uint(positions[push.pos_at]) / push.page_tokens];
  const uint keys = push.kv_at + page * push.page_bytes;
  const uint values = keys + push.n_head_kv * push.page_tokens * push.k_row_bytes;
  const uint slot = head_kv * push.page_tokens + uint(positions[push.pos_at]) % push.page_tokens;
  const uint n_key_units = (push.head_dim_k + unit_elements(kKFormat) - 1) / unit_elements(kKFormat);
  const uint n_units = n_key_units + (push.head_dim_v + unit_elements(kVFormat) - 1) / unit_elements(kVFormat);
  for (uint unit = gl_LocalInvocationID.x; unit < n_units; unit += kLanes) {
    if (unit < n_key_units) {
      first_bits = 0;
      write_unit(kKFormat, unit, push.head_dim_k, (keys + slot * push.k_row_bytes) / 2);
    } else {
      first_bits = kKDims;
      write_unit(kVFormat, unit - n_key_units, push.head_dim_v, (values + slot * push.v_row_bytes) / 2);
    }
  }
}

// Leaves the queries in q_tile, and key and value in their page.
void make_heads(bool takes_key) {
  const uint row_floats = kKPieces * 16;
  if (takes_key) {
    for (uint i = gl_LocalInvocationID.x; i < push.head_dim_v; i += kLanes)
      head_bits[kKDims + i] = floatBitsToUint(q[push.v_at + head_kv * push.head_dim_v + i]);
  }
  if (kHasQNorm || kHasKNorm) find_scales(takes_key);
  for (uint i = gl_LocalInvocationID.x; i < kRows * row_floats; i += kLanes) {
    if (!exists(i / row_floats) || i % row_floats >= push.head_dim_k) q_tile[i / 4][i % 4] = 0;
  }
  const uint n_items = push.head_dim_k - kPairs;
  for (uint i = gl_LocalInvocationID.x; i < kHeads * n_items; i += kLanes) {
    const uint head = i / n_items;
    if (head == kKey ? takes_key : exists(head)) turn(head, i % n_items);
  }
  barrier();
  if (!takes_key) return;
  write_key_and_value();
  memoryBarrierBuffer();
  barrier();
}
