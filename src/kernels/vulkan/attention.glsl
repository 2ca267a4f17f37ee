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
layout(constant_id = 2) const uint kRows = 4;     // of the tile, a multiple of 4
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
layout(set = 0, binding = 10, std430) readonly restrict buffer MainPages { int main_pages[]; };  // [2, n_seq]
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

// Of a sequence that has pages of two kinds (KvView::main_pages), those of one are met, and its keys are counted
// as if there were no others.
const uint kAllPages = 0, kMainPages = 1, kExactPages = 2;

// How many of a sequence's keys lie before a position.
int keys_before(uint seq, int position) {
  if (push.pages_of == kAllPages) return position;
  const int first = main_pages[push.main_pages_at + 2 * seq] * int(push.page_tokens);
  const int last = main_pages[push.main_pages_at + 2 * seq + 1] * int(push.page_tokens);
  const int n_main = min(max(position - first, 0), max(last - first, 0));
  return push.pages_of == kExactPages ? position - n_main : n_main;
}

// The page of a key, among the sequence's.
uint page_of(uint seq, uint key) {
  const uint index = key / push.page_tokens;
  if (push.pages_of == kAllPages) return index;
  const int first = main_pages[push.main_pages_at + 2 * seq], last = main_pages[push.main_pages_at + 2 * seq + 1];
  if (push.pages_of == kMainPages) return index + uint(first);
  return index < uint(first) ? index : index + uint(max(last - first, 0));
}

shared vec4 q_tile[kRows * kKPieces * 4];          // times the scale
shared vec4 weights[kLanes * kRows / 4];           // of each position: its rows
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

// A row has no weight for positions that it does not see, but no weight times NaN is NaN. Where sums are no numbers,
// all is done once more with care: what of a value is no number is left out, and noted for the rows that see it.
bool is_careful;
uint damaged[kPairsOfLane];  // a bit for each row; of the second dimension from bit kMostRows on
const uint kMostRows = 16;

bool is_only_part;  // of those that are merged
uint head_kv;
uint group_size;  // query heads that share a KV head
uint first_row;   // of the tile, among token * group_size + head of the group

uint token_of(uint row) { return (first_row + row) / group_size; }
uint head_of(uint row) { return head_kv * group_size + (first_row + row) % group_size; }
uint vector_of(uint row) { return token_of(row) * push.n_head + head_of(row); }
bool exists(uint row) { return first_row + row < push.n_tokens * group_size; }
bool is_seen(uint row, uint position) {
  return int(position) >= first_seen[row] && int(position) <= last_seen[row];
}

void load_q_tile() {
  const uint row_floats = kKPieces * 16;
  for (uint i = gl_LocalInvocationID.x; i < kRows * row_floats; i += kLanes) {
    const uint row = i / row_floats;
    const uint dimension = i % row_floats;
    float value = 0;
    if (exists(row) && dimension < push.head_dim_k) {
      value = q[push.q_at + vector_of(row) * push.head_dim_k + dimension] *
              push.scale;
    }
    q_tile[i / 4][i % 4] = value;
  }
}

#ifdef PARLANCE_FRESH
#include "attention_fresh.glsl"
#endif

// Lanes compute the scores of one block from position `first` to before `end`, leave their weights in shared
// memory, and update the state of the softmax.
void weigh(uint seq, uint first, uint end) {
  const uint lane = gl_LocalInvocationID.x;
  const uint position = first + lane;
  float scores[kRows];
  [[unroll]] for (uint r = 0; r < kRows; ++r) scores[r] = 0;
  if (position < end) {
    const uint page = page_table[push.page_table_at + seq * push.max_pages + page_of(seq, position)];
    const uint keys = push.kv_at + page * push.page_bytes;
    const uint values = keys + push.n_head_kv * push.page_tokens * push.k_row_bytes;
    const uint slot = head_kv * push.page_tokens + position % push.page_tokens;
    v_rows[lane] = values + slot * push.v_row_bytes;
    for (uint first_piece = 0; first_piece < kKPieces; first_piece += kPiecesAtOnce) {
      vec4 k[kPiecesAtOnce][4];
      [[unroll]] for (uint i = 0; i < kPiecesAtOnce; ++i)
        load_k(keys + slot * push.k_row_bytes, min(first_piece + i, kKPieces - 1), k[i]);
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
    weights[(lane * kRows + r) / 4][r % 4] = weight;
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

// Adds the weighted values of n positions, from the block's first, to the lane's sums. Several are loaded before the
// first is used: that hides the latency of memory.
void add_values(uint block, uint n) {
  const uint lane = gl_LocalInvocationID.x;
  if (lane >= kStride * kPairsAtOnce) return;
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) {
    const uint pair = lane % kPairsAtOnce + p * kLanes;
    if (2 * pair >= push.head_dim_v) continue;
    for (uint first = lane / kPairsAtOnce; first < n; first += kValuesAtOnce * kStride) {
      vec2 v[kValuesAtOnce];
      [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i) {
        v[i] = load_v(v_rows[min(first + i * kStride, n - 1)], pair);
      }
      if (is_careful) {
        [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i)
          leave_out(block + min(first + i * kStride, n - 1), p, v[i]);
      }
      [[unroll]] for (uint i = 0; i < kValuesAtOnce; ++i) {
        const uint position = first + i * kStride;
        if (position >= n) break;
        [[unroll]] for (uint r = 0; r < kRows; r += 4) {
          const vec4 weight = weights[(position * kRows + r) / 4];
          [[unroll]] for (uint j = 0; j < 4; ++j) value_sum[(r + j) * kPairsOfLane + p] += weight[j] * v[i];
        }
      }
    }
  }
}

// Of a token: keys before the first that it sees, and before the first that it sees no more.
uint first_of(uint seq, uint token) {
  return push.has_first > 0 ? uint(keys_before(seq, firsts[push.first_at + token])) : 0;
}
int keys_of(uint seq, uint token) { return keys_before(seq, positions[push.pos_at + token] + 1); }

// Lets the tile's rows of tokens first_token..last_token, which are of one sequence, see the part's
// positions.
void attend(uint first_token, uint last_token, uint seq, uint first, uint end) {
  const uint lane = gl_LocalInvocationID.x;
  if (lane < kRows) {
    const bool is_among = exists(lane) && token_of(lane) >= first_token && token_of(lane) <= last_token;
    last_seen[lane] = is_among ? keys_of(seq, token_of(lane)) - 1 : -1;
    first_seen[lane] = is_among ? int(first_of(seq, token_of(lane))) : 0;
  }
  barrier();
  for (uint block = first; block < end; block += kLanes) {
    weigh(seq, block, end);
    add_values(block, min(kLanes, end - block));
    barrier();
  }
}

// Leaves one component of the lanes' p-th sums in shared memory, where the weights were.
void share_sums(uint p, uint component) {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint r = 0; r < kRows; r += 4) {
    vec4 sums;
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      const bool is_damaged = (damaged[p] >> (r + j + component * kMostRows) & 1u) != 0;
      sums[j] = is_damaged ? uintBitsToFloat(kNanBits) : value_sum[(r + j) * kPairsOfLane + p][component];
    }
    weights[(lane * kRows + r) / 4] = sums;
  }
}

// Adds up what the lanes left there and stores it as dimensions 2 * pair + component of every row.
void store_sums(uint p, uint component, uint part) {
  for (uint i = gl_LocalInvocationID.x; i < kRows * kPairsAtOnce; i += kLanes) {
    const uint row = i / kPairsAtOnce;
    const uint dimension = 2 * (i % kPairsAtOnce + p * kLanes) + component;
    if (!exists(row) || dimension >= push.head_dim_v) continue;
    float sum = 0;
    for (uint n = 0; n < kStride; ++n) {
      sum += weights[((n * kPairsAtOnce + i % kPairsAtOnce) * kRows + row) / 4][row % 4];
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

void store(uint part) {
  reduce(weight_sum, true);
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) {
    [[unroll]] for (uint component = 0; component < 2; ++component) {
      share_sums(p, component);
      barrier();
      store_sums(p, component, part);
      barrier();
    }
  }
}

vec2 softmax_of_part(uint part, uint vector) {
  return softmax[push.softmax_at + part * push.n_tokens * push.n_head + vector];
}
float sum_of_part(uint part, uint vector, uint dimension) {
  return result[push.out_at + (part * push.n_tokens * push.n_head + vector) * push.head_dim_v + dimension];
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
  for (uint i = gl_LocalInvocationID.x; i < kRows * push.head_dim_v; i += kLanes) {
    const uint row = i / push.head_dim_v, dimension = i % push.head_dim_v;
    if (!exists(row)) continue;
    const uint vector = vector_of(row);
    merged[push.merged_at + vector * push.head_dim_v + dimension] = put_together(vector, dimension, n_parts);
  }
}

// Positions of a part of a row that sees n of them: it follows from the row alone, so that its sums do, too.
const uint kMostParts = 32;
uint part_positions(uint n) {
  if (push.n_parts == 1) return 0x7fffffff;
  return max(kLanes, (n <= 1 ? 1 : 2u << findMSB(n - 1)) / kMostParts);
}

uint rows_of_tile() { return min(kRows, push.n_tokens * group_size - first_row); }

// Parts that have positions which the tile's rows see.
uint parts_of_tile() {
  uint n_parts = 1;
  for (uint token = token_of(0); token <= token_of(rows_of_tile() - 1); ++token) {
    const uint n_keys = uint(max(keys_of(uint(seqs[push.seq_at + token]), token), 1));
    n_parts = max(n_parts, (n_keys - 1) / part_positions(n_keys) + 1);
  }
  return min(n_parts, push.n_parts);
}

// Whether any lane's sums are no numbers.
bool are_sums_damaged() {
  float found[kRows];  // the first: 1 where they are
  [[unroll]] for (uint r = 0; r < kRows; ++r) found[r] = 0;
  [[unroll]] for (uint i = 0; i < kRows * kPairsOfLane; ++i)
    if (!is_finite(value_sum[i].x) || !is_finite(value_sum[i].y)) found[0] = 1;
  reduce(found, false);
  const bool are_damaged = reduced_max(0, 0) > 0;
  barrier();
  return are_damaged;
}

// Sums up what all rows of the tile see of a part.
void sum_up(uint part) {
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    weight_sum[r] = 0;
    [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) value_sum[r * kPairsOfLane + p] = vec2(0);
  }
  if (gl_LocalInvocationID.x < kRows) largest[gl_LocalInvocationID.x] = kNothingSeen;

  const uint last_of_tile = token_of(rows_of_tile() - 1);
  for (uint token = token_of(0); token <= last_of_tile;) {
    const uint seq = uint(seqs[push.seq_at + token]);
    int n_keys = keys_of(seq, token);
    const uint n_positions = part_positions(uint(n_keys));
    uint last_token = token;
    uint first_position = first_of(seq, token);
    while (last_token < last_of_tile && uint(seqs[push.seq_at + last_token + 1]) == seq) {
      const int keys_of_next = keys_of(seq, last_token + 1);
      if (part_positions(uint(keys_of_next)) != n_positions) break;
      ++last_token;
      n_keys = max(n_keys, keys_of_next);
      first_position = min(first_position, first_of(seq, last_token));
    }
    const uint first = part * n_positions;
    // In whole blocks from the part's first position on, so that sums do not tell which rows share the tile.
    const uint left_out = first_position > first ? (first_position - first) / kLanes * kLanes : 0;
    attend(token, last_token, seq, first + left_out, min(uint(n_keys), first + n_positions));
    token = last_token + 1;
  }
}

void main() {
  head_kv = gl_WorkGroupID.y;
  group_size = push.n_head / push.n_head_kv;
  first_row = gl_WorkGroupID.x * kRows;
  const uint part = gl_WorkGroupID.z;
  const uint n_parts = kMerges ? parts_of_tile() : push.n_parts;
  if (part >= n_parts) return;
  is_only_part = kMerges && n_parts == 1;
  [[unroll]] for (uint p = 0; p < kPairsOfLane; ++p) damaged[p] = 0;
#ifdef PARLANCE_FRESH
  make_heads(part + 1 == n_parts);
#else
  load_q_tile();
#endif
  load_levels();
  for (is_careful = false;; is_careful = true) {
    sum_up(part);
    if (is_careful || !are_sums_damaged()) break;
  }
  store(part);
  if (kMerges && !is_only_part) merge(n_parts);
}
