// For attention.glsl: the rows are the heads of a token alone, whose queries, key and value are as the products left
// them, and all pages of whose sequence are met. Each group norms and rotates the queries of its heads; that of the
// last part also the key, and writes it and the value into their page, where it finds them afterwards. The bits are
// those of norm_rope_write.comp.

layout(constant_id = 12) const bool kHasQNorm = false;
layout(constant_id = 13) const bool kHasKNorm = false;
layout(constant_id = 14) const uint kPairs = 0;    // of a head, that are turned
layout(constant_id = 15) const uint kAStride = 1;  // from pair to pair
layout(constant_id = 16) const uint kBOffset = 0;  // from a to b of a pair

layout(set = 0, binding = 13, std430) readonly restrict buffer QNorm { float q_norm[]; };  // [head_dim_k]
layout(set = 0, binding = 14, std430) readonly restrict buffer KNorm { float k_norm[]; };

// The token, as found once.
uint own_sequence;
int own_position;

void find_rows() {
  own_sequence = uint(seqs[push.seq_at]);
  own_position = positions[push.pos_at];
}

uint token_of(uint row) { return 0; }
uint vector_of(uint row) { return head_kv * group_size + row; }
bool exists(uint row) { return row < group_size; }
uint last_token_of_tile() { return 0; }
uint page_of(uint seq, uint key) { return key / push.page_tokens; }
uint seq_of(uint token) { return own_sequence; }
uint first_of(uint seq, uint token) { return push.has_first > 0 ? uint(firsts[push.first_at]) : 0; }
int keys_of(uint seq, uint token) { return own_position + 1; }

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

// Heads are taken by teams as large as the groups of norm_rope_write.comp, in turn. The key is behind the queries.
const uint kTeamLanes = 64, kTeams = kLanes / kTeamLanes;
const uint kKey = kRows;
const uint kThreads = kLanes, kTeamValues = (kRows + kTeams) / kTeams;
#include "team_sums.glsl"

uint head_of_team(uint i) { return i * kTeams + gl_LocalInvocationID.x / kTeamLanes; }
bool is_there(uint head) { return head == kKey || head < kKey && exists(head); }

// Pairs, and behind them what is not turned, each as one item of a head.
struct Item {
  uint a, b;  // dimensions; the same where it is no pair
  vec2 angle;
  vec2 q_norm, k_norm;  // of a and b
};

uint n_items() { return push.head_dim_k - kPairs; }

// Queries, key, value and angles lie in one buffer.
Item load_item(uint i) {
  Item item;
  const bool is_pair = i < kPairs;
  item.a = is_pair ? i * kAStride : kPairs + i;
  item.b = is_pair ? item.a + kBOffset : item.a;
  item.angle = is_pair ? vec2(q[push.angles_at + i], q[push.angles_at + kPairs + i]) : vec2(1, 0);
  if (kHasQNorm) item.q_norm = vec2(q_norm[push.q_norm_at + item.a], q_norm[push.q_norm_at + item.b]);
  if (kHasKNorm) item.k_norm = vec2(k_norm[push.k_norm_at + item.a], k_norm[push.k_norm_at + item.b]);
  return item;
}

// What a lane needs first: its team's heads, its part of the value, and its first item.
const uint kDimsOfLane = (kKDims + kTeamLanes - 1) / kTeamLanes, kValueDimsOfLane = (kVDims + kLanes - 1) / kLanes;
float asked_heads[kTeamValues * kDimsOfLane];
float asked_value[kValueDimsOfLane];
Item first_item;

void ask_for_heads() {
  const uint lane = gl_LocalInvocationID.x % kTeamLanes;
  [[unroll]] for (uint i = 0; i < kTeamValues * kDimsOfLane; ++i) {
    const uint head = head_of_team(i / kDimsOfLane), d = lane + i % kDimsOfLane * kTeamLanes;
    const uint first =
        head == kKey ? push.k_at + head_kv * push.head_dim_k : push.q_at + vector_of(head) * push.head_dim_k;
    asked_heads[i] = is_there(head) && d < push.head_dim_k ? q[first + d] : 0;
  }
  [[unroll]] for (uint i = 0; i < kValueDimsOfLane; ++i) {
    const uint d = gl_LocalInvocationID.x + i * kLanes;
    asked_value[i] = q[push.v_at + head_kv * push.head_dim_v + min(d, push.head_dim_v - 1)];
  }
  first_item = load_item(min(lane, n_items() - 1));
}

// A head's values wait where they will be used.
float waiting(uint head, uint d) {
  const uint i = head * kKDims + d;
  return head == kKey ? uintBitsToFloat(head_bits[d]) : q_tile[i / 4][i % 4];
}

void put(uint head, uint d, float value) {
  const uint i = head * kKDims + d;
  if (head == kKey) {
    head_bits[d] = floatBitsToUint(value);
  } else {
    q_tile[i / 4][i % 4] = value;
  }
}

// Leaves what was asked for there, and sums of squares.
void take_heads() {
  float sums[kTeamValues];
  [[unroll]] for (uint i = 0; i < kTeamValues; ++i) sums[i] = 0;
  [[unroll]] for (uint i = 0; i < kTeamValues * kDimsOfLane; ++i) {
    const uint head = head_of_team(i / kDimsOfLane);
    const uint d = gl_LocalInvocationID.x % kTeamLanes + i % kDimsOfLane * kTeamLanes;
    sums[i / kDimsOfLane] = added_square(sums[i / kDimsOfLane], asked_heads[i]);
    if (is_there(head) && d < kKDims) put(head, d, asked_heads[i]);
  }
  [[unroll]] for (uint i = 0; i < kValueDimsOfLane; ++i) {
    const uint d = gl_LocalInvocationID.x + i * kLanes;
    if (d < kVDims) head_bits[kKDims + d] = floatBitsToUint(asked_value[i]);
  }
  add_up(sums, kTeamValues, kTeamLanes);
}

void turn(uint head, float scale, Item item) {
  vec2 pair = vec2(waiting(head, item.a), waiting(head, item.b));
  const bool has_norm = head == kKey ? kHasKNorm : kHasQNorm;
  if (has_norm) {
    const vec2 weight = head == kKey ? item.k_norm : item.q_norm;
    pair = vec2(normalised(pair.x, scale, weight.x), normalised(pair.y, scale, weight.y));
  }
  if (item.a != item.b) pair = turned(pair, item.angle);
  if (head != kKey) pair *= push.scale;
  put(head, item.a, pair.x);
  if (item.a != item.b) put(head, item.b, pair.y);
}

void write_key_and_value() {
  const uint index = page_of(own_sequence, uint(own_position));
  const uint page = page_table[push.page_table_at + own_sequence * push.max_pages + index];
  const uint keys = push.kv_at + page * push.page_bytes;
  const uint values = keys + push.n_head_kv * push.page_tokens * push.k_row_bytes;
  const uint slot = head_kv * push.page_tokens + uint(own_position) % push.page_tokens;
  const uint n_key_units = (push.head_dim_k + unit_elements(kKFormat) - 1) / unit_elements(kKFormat);
  const uint n_units = n_key_units + (push.head_dim_v + unit_elements(kVFormat) - 1) / unit_elements(kVFormat);
  for (uint i = gl_LocalInvocationID.x; i < n_units; i += kLanes) {
    const bool is_key = i < n_key_units;
    const uint unit = is_key ? i : i - n_key_units, n = is_key ? push.head_dim_k : push.head_dim_v;
    const uint at = (is_key ? keys + slot * push.k_row_bytes : values + slot * push.v_row_bytes) / 2;
    first_bits = is_key ? 0 : kKDims;
    if (kKFormat == kVFormat) {
      write_unit(kKFormat, unit, n, at);  // written once, as long code takes long to load
    } else if (is_key) {
      write_unit(kKFormat, unit, n, at);
    } else {
      write_unit(kVFormat, unit, n, at);
    }
  }
}

// Leaves the queries in q_tile, times the scale, and key and value in their page.
void make_heads(bool takes_key) {
  const uint lane = gl_LocalInvocationID.x % kTeamLanes, team = gl_LocalInvocationID.x / kTeamLanes;
  take_heads();
  float scales[kTeamValues];
  [[unroll]] for (uint i = 0; i < kTeamValues; ++i)
    scales[i] = kHasQNorm || kHasKNorm ? norm_scale(sum_of_team(team, i, kTeamLanes), push.head_dim_k, push.eps) : 1;
  Item item = first_item;
  for (uint i = lane; i < n_items();) {
    [[unroll]] for (uint j = 0; j < kTeamValues; ++j)
      if (is_there(head_of_team(j))) turn(head_of_team(j), scales[j], item);
    i += kTeamLanes;
    if (i < n_items()) item = load_item(i);
  }
  barrier();
  if (!takes_key) return;
  write_key_and_value();
  memoryBarrierBuffer();
  barrier();
}
