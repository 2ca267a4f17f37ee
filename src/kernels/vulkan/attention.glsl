// attention: a workgroup serves a tile of query rows (the heads that share a KV head, of one or several
// tokens) and a part of the positions, in blocks of one position per lane. In each block a lane first
// computes the scores of its position for all rows of the tile, then the sums of all positions for its
// dimensions of the values. The softmax is taken as the blocks arrive: sums are scaled down whenever a larger
// score shows up.
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

#include "finite.glsl"
#include "kv_formats.glsl"

layout(constant_id = 0) const uint kKFormat = 0;
layout(constant_id = 1) const uint kVFormat = 0;
layout(constant_id = 2) const uint kRows = 4;     // of the tile, a multiple of kRowsAtOnce
layout(constant_id = 3) const uint kKPieces = 1;  // of 16 dimensions, that a key has or fewer
layout(constant_id = 4) const uint kVPairs = 1;   // of dimensions, that a value has or fewer
// Whether rows of floats may be read 16 bytes at a time: addresses and sizes of all rows are multiples of
// that.
layout(constant_id = 5) const bool kWholeQuads = false;
layout(constant_id = 6) const uint kKLevels = 1;  // room for levels of keys, and of values
layout(constant_id = 7) const uint kVLevels = 1;
layout(constant_id = 8) const bool kHasResidual = false;
layout(constant_id = 9) const uint kValuesAtOnce = 8;  // that a lane loads before it uses the first
// Whether the last group of a tile to be done puts its parts together. The order of sums does not tell which that is.
layout(constant_id = 10) const bool kMerges = false;
layout(constant_id = 11) const uint kPiecesAtOnce = 1;  // of a key, that a lane loads before it uses the first

const uint kMostParts = 32;  // of the positions of a row

const uint kLanes = 128;
layout(local_size_x = 128) in;

// One layer of the cache, twice.
#ifdef PARLANCE_FRESH
layout(set = 0, binding = 0, std430) buffer KvWords { uint kv_words[]; };
layout(set = 0, binding = 1, std430) buffer KvQuads { uvec4 kv_quads[]; };
#else
layout(set = 0, binding = 0, std430) readonly restrict buffer KvWords { uint kv_words[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer KvQuads { uvec4 kv_quads[]; };
#endif
layout(set = 0, binding = 2, std430) readonly restrict buffer PageTable { int page_table[]; };
layout(set = 0, binding = 3, std430) readonly restrict buffer Seq { int seqs[]; };
layout(set = 0, binding = 4, std430) readonly restrict buffer Pos { int positions[]; };
// [head_dim_k, n_head, n_tokens], as they meet stored keys
layout(set = 0, binding = 5, std430) readonly restrict buffer Q { float q[]; };
// [head_dim_v, n_head, n_tokens]; where sums are kept, scratch memory: one such tensor for each part
layout(set = 0, binding = 6, std430) coherent buffer Out { float result[]; };
layout(set = 0, binding = 8, std430) readonly restrict buffer First { int firsts[]; };
layout(set = 0, binding = 9, std430) readonly restrict buffer Constants { float constants[]; };
// Where sums are kept: largest score and sum of weights [2, n_head, n_tokens, n_parts]
layout(set = 0, binding = 7, std430) coherent buffer Softmax { vec2 softmax[]; };
// Where parts are merged: how many groups of each tile are done, and [head_dim_v, n_head, n_tokens]
layout(set = 0, binding = 11, std430) coherent buffer Done { uint n_done[]; };
layout(set = 0, binding = 12, std430) writeonly restrict buffer Merged { float merged[]; };

layout(push_constant) uniform Push {
  uint kv_at;  // bytes
  uint page_bytes;
  uint page_tokens;
  uint k_row_bytes;
  uint v_row_bytes;
  uint page_table_at;  // elements, like all that follow
  uint max_pages;
  uint seq_at;
  uint pos_at;
  uint q_at;
  uint out_at;
  uint softmax_at;
  uint head_dim_k;  // stored dimensions, like head_dim_v
  uint head_dim_v;
  uint n_head;
  uint n_head_kv;
  uint n_tokens;
  uint n_parts;    // 1: all positions are one part
  uint has_first;  // whether tokens see no more than the positions from firsts on
  uint first_at;
  float scale;
  uint keeps_sums;  // whether parts are left as sums, for what puts them together
  uint pages_of;    // which pages of a sequence are met: kAllPages, kMainPages, kExactPages
  uint main_pages_at;
  uint merged_at;
#ifdef PARLANCE_FRESH
  uint k_at, v_at, angles_at, q_norm_at, k_norm_at;
  float eps;
#endif
} push;

uint k_format() { return kKFormat; }
uint v_format() { return kVFormat; }

#include "attention_kv.glsl"

// Rows whose weights, or sums of values, lanes load and store together; components of pairs of sums that lanes leave in
// shared memory at once; and whether lanes know where a block's values are and ask for them before they compute scores,
// which takes registers and a barrier for each block but the first.
#ifdef PARLANCE_FRESH
#define RowsAtOnce vec2
const uint kRowsAtOnce = 2, kComponentsAtOnce = 2;
const bool kAsksAhead = true;
#else
#define RowsAtOnce vec4
const uint kRowsAtOnce = 4, kComponentsAtOnce = 1;
const bool kAsksAhead = false;
#endif

shared vec4 q_tile[kRows * kKPieces * 4];          // times the scale
// Of each position: its rows.
shared RowsAtOnce weights[kLanes * kRows / kRowsAtOnce * kComponentsAtOnce];
shared uint v_rows[kLanes];                        // where each position's value starts
shared int first_seen[kRows];                      // position
shared int last_seen[kRows];                       // position; -1: the row is of another sequence

const uint kValues = kRows, kMostThreads = kLanes;
#include "reduce.glsl"

// State of the softmax of each row.
const float kNothingSeen = -1e30;
shared float largest[kRows];  // score so far
shared float shrink[kRows];   // what the last block's larger score made of the weights before it

// What a lane sums up: pairs of dimensions of the values, of every n-th position of a block. A value with
// more pairs than there are lanes makes each lane sum several.
const uint kPairsAtOnce = kVPairs < kLanes ? kVPairs : kLanes;
const uint kPairsOfLane = (kVPairs + kLanes - 1) / kLanes;
const uint kStride = kLanes / kPairsAtOnce;

float weight_sum[kRows];  // of the lane's positions
vec2 value_sum[kRows * kPairsOfLane];
vec2 first_values[kValuesAtOnce];  // of the lane's first positions of a block

uint key_row;  // where the key of the lane's position starts

// A row has no weight for positions that it does not see, but no weight times NaN is NaN. Where sums are no numbers,
// all is done once more with care: what of a value is no number is left out, and noted for the rows that see it.
bool is_careful;
uint damaged[kPairsOfLane];  // a bit for each row; of the second dimension from bit kMostRows on
const uint kMostRows = 16;

bool is_only_part;  // of those that are merged

uint head_kv;
uint group_size;  // query heads that share a KV head

#ifdef PARLANCE_FRESH
#include "attention_fresh.glsl"
#else
#include "attention_tile.glsl"
#endif

bool is_seen(uint row, uint position) {
  return int(position) >= first_seen[row] && int(position) <= last_seen[row];
}

// Finds where keys and values of one block lie, from position `first` to before `end`.
void find_block(uint seq, uint first, uint end) {
  const uint position = first + gl_LocalInvocationID.x;
  if (position >= end) return;
  const uint page = page_table[push.page_table_at + seq * push.max_pages + page_of(seq, position)];
  const uint keys = push.kv_at + page * push.page_bytes;
  const uint values = keys + push.n_head_kv * push.page_tokens * push.k_row_bytes;
  const uint slot = head_kv * push.page_tokens + position % push.page_tokens;
  key_row = keys + slot * push.k_row_bytes;
  v_rows[gl_LocalInvocationID.x] = values + slot * push.v_row_bytes;
}

// Lanes compute the scores of that block, leave their weights in shared memory, and update the state of the softmax.
void weigh(uint first, uint end) {
  const uint lane = gl_LocalInvocationID.x;
  const uint position = first + lane;
  float scores[kRows];
  [[unroll]] for (uint r = 0; r < kRows; ++r) scores[r] = 0;
  if (position < end) {
    for (uint first_piece = 0; first_piece < kKPieces; first_piece += kPiecesAtOnce) {
      vec4 k[kPiecesAtOnce][4];
      [[unroll]] for (uint i = 0; i < kPiecesAtOnce; ++i)
        load_k(key_row, min(first_piece + i, kKPieces - 1), k[i]);
      [[unroll]] for (uint i = 0; i < kPiecesAtOnce; ++i) {
        const uint piece = first_piece + i;
        if (piece >= kKPieces) break;
        [[unroll]] for (uint r = 0; r < kRows; ++r) {
          const uint at = (r * kKPieces + piece) * 4;
          scores[r] += dot(q_tile[at], k[i][0]) + dot(q_tile[at + 1], k[i][1]) + dot(q_tile[at + 2], k[i][2]) +
                       dot(q_tile[at + 3], k[i][3]);
        }
      }
    }
  }
  // What is infinite could have no weight, so that it would not show.
  [[unroll]] for (uint r = 0; r < kRows; ++r)
    scores[r] = position < end && is_seen(r, position) ? finite_or_nan(scores[r]) : kNothingSeen;
  reduce(scores, false);
  if (lane < kRows) {
    const float top = reduced_max(lane, largest[lane]);
    shrink[lane] = largest[lane] == top ? 1 : exp(largest[lane] - top);
    largest[lane] = top;
  }
  barrier();
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    const float weight = scores[r] == kNothingSeen ? 0 : exp(scores[r] - largest[r]);
    weight_sum[r] = weight_sum[r] * shrink[r] + weight;
    [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) value_sum[r * kPairsOfLane + p] *= shrink[r];
    weights[(lane * kRows + r) / kRowsAtOnce][r % kRowsAtOnce] = weight;
  }
  barrier();
}

// Leaves out what of a position's value is no number.
void leave_out(uint position, uint p, inout vec2 v) {
  const bool is_first = !is_finite(v.x), is_second = !is_finite(v.y);
  if (!is_first && !is_second) return;
  uint seeing = 0;
  for (uint r = 0; r < kRows; ++r) seeing |= is_seen(r, position) ? 1u << r : 0;
  if (is_first) {
    damaged[p] |= seeing;
    v.x = 0;
  }
  if (is_second) {
    damaged[p] |= seeing << kMostRows;
    v.y = 0;
  }
}

// Adds a position's value to the sums of all rows, as its weights say. `position` is the block's.
void add_value(uint position, uint p, vec2 v) {
  [[unroll]] for (uint r = 0; r < kRows; r += kRowsAtOnce) {
    const RowsAtOnce weight = weights[(position * kRows + r) / kRowsAtOnce];
    [[unroll]] for (uint j = 0; j < kRowsAtOnce; ++j) value_sum[(r + j) * kPairsOfLane + p] += weight[j] * v;
  }
}

vec2 value_of(uint position, uint pair, uint n) { return load_v(v_rows[min(position, n - 1)], pair); }

void ask_for_values(uint n) {
  const uint lane = gl_LocalInvocationID.x, pair = min(lane % kPairsAtOnce, (push.head_dim_v - 1) / 2);
  [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i)
    first_values[i] = value_of(lane / kPairsAtOnce + i * kStride, pair, n);
}

// Adds the weighted values of n positions, from the block's first, to the lane's sums. Several are loaded before the
// first is used: that hides the latency of memory.
void add_values(uint block, uint n) {
  const uint lane = gl_LocalInvocationID.x;
  if (lane >= kStride * kPairsAtOnce) return;
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) {
    const uint pair = lane % kPairsAtOnce + p * kLanes;
    if (2 * pair >= push.head_dim_v) continue;
    if (is_careful) {
      for (uint position = lane / kPairsAtOnce; position < n; position += kStride) {
        vec2 value = load_v(v_rows[position], pair);
        leave_out(block + position, p, value);
        add_value(position, p, value);
      }
      continue;
    }
    for (uint first = lane / kPairsAtOnce; first < n; first += kValuesAtOnce * kStride) {
      vec2 values[kValuesAtOnce];
      if (kAsksAhead && p == 0 && first < kStride) {
        [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i) values[i] = first_values[i];
      } else {
        [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i) values[i] = value_of(first + i * kStride, pair, n);
      }
      [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i) {
        const uint position = first + i * kStride;
        if (position >= n) break;
        add_value(position, p, values[i]);
      }
    }
  }
}

// Lets the tile's rows of tokens first_token..last_token, which are of one sequence, see the part's
// positions. With kAsksAhead the first block has been found, and a barrier since.
void attend(uint first_token, uint last_token, uint seq, uint first, uint end) {
  const uint lane = gl_LocalInvocationID.x;
  if (lane < kRows) {
    const bool is_among = exists(lane) && token_of(lane) >= first_token && token_of(lane) <= last_token;
    last_seen[lane] = is_among ? keys_of(seq, token_of(lane)) - 1 : -1;
    first_seen[lane] = is_among ? int(first_of(seq, token_of(lane))) : 0;
  }
  barrier();
  for (uint block = first; block < end; block += kLanes) {
    const uint n = min(kLanes, end - block);
    const bool is_found = kAsksAhead && block == first && !is_careful;
    if (!is_found) find_block(seq, block, end);
    if (kAsksAhead) {
      if (!is_found) barrier();
      ask_for_values(n);
    }
    weigh(block, end);
    add_values(block, n);
    barrier();
  }
}

// Leaves components of the lanes' p-th sums in shared memory, where the weights were.
void share_sums(uint p, uint first_component) {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint c = 0; c < kComponentsAtOnce; ++c) {
    const uint component = first_component + c;
    [[unroll]] for (uint r = 0; r < kRows; r += kRowsAtOnce) {
      RowsAtOnce sums;
      [[unroll]] for (uint j = 0; j < kRowsAtOnce; ++j) {
        const bool is_damaged = (damaged[p] >> (r + j + component * kMostRows) & 1u) != 0;
        sums[j] = is_damaged ? uintBitsToFloat(kNanBits) : value_sum[(r + j) * kPairsOfLane + p][component];
      }
      weights[((c * kLanes + lane) * kRows + r) / kRowsAtOnce] = sums;
    }
  }
}

// Adds up what the lanes left there and stores it as dimensions 2 * pair + component of every row.
void store_sums(uint p, uint first_component, uint part) {
  const uint n = kPairsAtOnce * kComponentsAtOnce;
  for (uint i = gl_LocalInvocationID.x; i < kRows * n; i += kLanes) {
    const uint row = i / n, c = i % kComponentsAtOnce, pair = i % n / kComponentsAtOnce;
    const uint dimension = 2 * (pair + p * kLanes) + first_component + c;
    if (!exists(row) || dimension >= push.head_dim_v) continue;
    float sum = 0;
    for (uint j = 0; j < kStride; ++j) {
      const uint lane = c * kLanes + j * kPairsAtOnce + pair;
      sum += weights[(lane * kRows + row) / kRowsAtOnce][row % kRowsAtOnce];
    }
    const float total = reduced_sum(row);
    const uint vector = part * push.n_tokens * push.n_head + vector_of(row);
    if (is_only_part) {
      merged[push.merged_at + vector * push.head_dim_v + dimension] = sum / total;
      continue;
    }
    result[push.out_at + vector * push.head_dim_v + dimension] = push.keeps_sums == 0 ? sum / total : sum;
    if (push.keeps_sums != 0 && dimension == 0) softmax[push.softmax_at + vector] = vec2(largest[row], total);
  }
}

// Of sums whose weights have been added up.
void store(uint part) {
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) {
    [[unroll]] for (uint component = 0; component < 2; component += kComponentsAtOnce) {
      share_sums(p, component);
      barrier();
      store_sums(p, component, part);
      if (p + 1 < kPairsOfLane || component + kComponentsAtOnce < 2) barrier();
    }
  }
}

shared vec2 softmaxes[kMerges ? kRows * kMostParts : 1];  // of rows' parts

vec2 softmax_of_part(uint part, uint row) { return softmaxes[row * kMostParts + part]; }
float sum_of_part(uint part, uint row, uint dimension) {
  return result[push.out_at + (part * push.n_tokens * push.n_head + vector_of(row)) * push.head_dim_v + dimension];
}

#include "attention_parts.glsl"

shared uint n_done_before;

void merge(uint n_parts) {
  memoryBarrierBuffer();
  barrier();
  const uint tile = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (gl_LocalInvocationID.x == 0) n_done_before = atomicAdd(n_done[tile], 1);
  barrier();
  if (n_done_before + 1 < n_parts) return;
  memoryBarrierBuffer();
  if (gl_LocalInvocationID.x == 0) n_done[tile] = 0;  // for the next launch
  for (uint i = gl_LocalInvocationID.x; i < kRows * n_parts; i += kLanes) {
    const uint row = i / n_parts, part = i % n_parts;
    if (exists(row))
      softmaxes[row * kMostParts + part] =
          softmax[push.softmax_at + part * push.n_tokens * push.n_head + vector_of(row)];
  }
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < kRows * push.head_dim_v; i += kLanes) {
    const uint row = i / push.head_dim_v, dimension = i % push.head_dim_v;
    if (!exists(row)) continue;
    merged[push.merged_at + vector_of(row) * push.head_dim_v + dimension] = put_together(row, dimension, n_parts);
  }
}

// Positions of a part of a row that sees n of them: it follows from the row alone, so that its sums do, too.
uint part_positions(uint n) {
  if (push.n_parts == 1) return 0x7fffffff;
  return max(kLanes, (n <= 1 ? 1 : 2u << findMSB(n - 1)) / kMostParts);
}

// Positions from which to before which such a row sees something of a part: in whole blocks from the part's first
// position on, so that sums do not tell which rows share the tile.
uvec2 seen_positions(uint part, uint n_keys, uint first_position) {
  const uint n_positions = part_positions(n_keys), first = part * n_positions;
  const uint left_out = first_position > first ? (first_position - first) / kLanes * kLanes : 0;
  return uvec2(first + left_out, min(n_keys, first + n_positions));
}

// Parts that have positions which the tile's rows see.
uint parts_of_tile() {
  uint n_parts = 1;
  for (uint token = token_of(0); token <= last_token_of_tile(); ++token) {
    const uint n_keys = uint(max(keys_of(seq_of(token), token), 1));
    n_parts = max(n_parts, (n_keys - 1) / part_positions(n_keys) + 1);
  }
  return min(n_parts, push.n_parts);
}

shared bool are_damaged;  // whether any lane's sums are no numbers

void note_damage() {
  [[unroll]] for (uint i = 0; i < kRows * kPairsOfLane; ++i)
    if (!is_finite(value_sum[i].x) || !is_finite(value_sum[i].y)) are_damaged = true;
}

// Sums up what all rows of the tile see of a part.
void sum_up(uint part) {
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    weight_sum[r] = 0;
    [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) value_sum[r * kPairsOfLane + p] = vec2(0);
  }
  if (gl_LocalInvocationID.x < kRows) largest[gl_LocalInvocationID.x] = kNothingSeen;

  const uint last_of_tile = last_token_of_tile();
  for (uint token = token_of(0); token <= last_of_tile;) {
    const uint seq = seq_of(token);
    int n_keys = keys_of(seq, token);
    const uint n_positions = part_positions(uint(n_keys));
    uint last_token = token;
    uint first_position = first_of(seq, token);
    while (last_token < last_of_tile && seq_of(last_token + 1) == seq) {
      const int keys_of_next = keys_of(seq, last_token + 1);
      if (part_positions(uint(keys_of_next)) != n_positions) break;
      ++last_token;
      n_keys = max(n_keys, keys_of_next);
      first_position = min(first_position, first_of(seq, last_token));
    }
    const uvec2 seen = seen_positions(part, uint(n_keys), first_position);
    attend(token, last_token, seq, seen.x, seen.y);
    token = last_token + 1;
  }
}

void main() {
  head_kv = gl_WorkGroupID.y;
  group_size = push.n_head / push.n_head_kv;
  find_rows();
#ifdef PARLANCE_FRESH
  ask_for_heads();
#endif
  const uint part = gl_WorkGroupID.z;
  const uint n_parts = kMerges ? parts_of_tile() : push.n_parts;
  if (part >= n_parts) return;
  is_only_part = kMerges && n_parts == 1;
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) damaged[p] = 0;
  if (gl_LocalInvocationID.x == 0) are_damaged = false;
#ifdef PARLANCE_FRESH
  const uvec2 seen = seen_positions(part, uint(own_position) + 1, first_of(own_sequence, 0));
  find_block(own_sequence, seen.x, seen.y);  // while heads are on their way
  make_heads(part + 1 == n_parts);
#else
  load_q_tile();
#endif
  load_levels();
  [[dont_unroll]] for (is_careful = false;; is_careful = true) {
    sum_up(part);
    note_damage();
    reduce(weight_sum, true);  // and lets all lanes see whether there is damage
    if (is_careful || !are_damaged) break;
  }
  store(part);
  if (kMerges && !is_only_part) merge(n_parts);
}
