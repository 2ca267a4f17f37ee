// Products of one token, from the norm before them to the sum or gate behind them: what takes several launches
// otherwise, which wait for each other longer than they compute. A workgroup makes the token ready for itself: its
// norm, and for quantised weights its rounding. Then teams of lanes take a few rows each, with the lanes, and so the
// bits, of matmul_gemv.comp.
#extension GL_GOOGLE_include_directive : require
#include "subgroups.glsl"

layout(local_size_x_id = 8) in;
layout(constant_id = 8) const uint kThreads = 128;

#define PARLANCE_QUAD_LOADS
#include "dot4.glsl"
#include "exp.glsl"
#include "grid.glsl"
#include "norm.glsl"
#include "rounding.glsl"
#include "weights.glsl"

#include "run_product.glsl"

const uint kStore = 0, kAdd = 1, kGate = 2;       // as MatmulEnd
layout(constant_id = 9) const uint kLanes = 32;   // of a team
layout(constant_id = 10) const uint kRows = 1;    // of a team, of each product
layout(constant_id = 11) const bool kIsNormed = false;
layout(constant_id = 12) const uint kEnd = kStore;
layout(constant_id = 13) const uint kMostRuns = 1;  // of the token, where weights are quantised: room
layout(constant_id = 14) const uint kHeld = 2;      // quads of the token that an invocation loads ahead; of floats two

const uint kTeams = kThreads / kLanes;
const uint kProducts = kEnd == kGate ? 2 : 1;  // of which a team has rows
const uint kValues = kRows * kProducts;

#define kTeamValues kValues
#include "team_sums.glsl"

layout(set = 0, binding = 2, std430) readonly buffer X { float x[]; };            // [n_in]
layout(set = 0, binding = 3, std430) readonly buffer XQuads { vec4 x_quads[]; };  // the same memory
layout(set = 0, binding = 4, std430) readonly restrict buffer Norm { float norm[]; };
layout(set = 0, binding = 5, std430) readonly restrict buffer NormQuads { vec4 norm_quads[]; };  // the same memory
layout(set = 0, binding = 6, std430) buffer Out { float result[]; };

// One of the products: its weight [n_in, n_out] and bias lie in the memory of the weights.
struct Product {
  uint weight_at;  // bytes
  uint bias_at;    // elements
  uint has_bias;
  uint n_out;
  uint out_at;  // elements
};

layout(push_constant) uniform Push {
  Product products[4];
  uint n_products;
  uint row_bytes;  // of the weights
  uint n_in;
  uint x_at;     // elements
  uint norm_at;  // elements
  float eps;
  float smallest_magnitude;  // runs of activations below it count as zero
  uint n_pieces;             // of kTeams * kRows rows, that a workgroup takes one after the other
} push;

float scale = 1;  // what the norm multiplies with, beside its weight

void find_scale() {
  float values[kValues];
  [[unroll]] for (uint i = 0; i < kValues; ++i) values[i] = 0;
  for (uint i = gl_LocalInvocationID.x; i < push.n_in; i += kThreads)
    values[0] = added_square(values[0], x[push.x_at + i]);
  add_up(values, 1, kThreads);
  scale = norm_scale(sum_of_team(0, 0, kThreads), push.n_in, push.eps);
  if (kIsFloat) barrier();  // others may still read that; rounding has barriers of its own
}

vec4 with_norm(vec4 quad, vec4 norm_quad) { return kIsNormed ? normalised(quad, scale, norm_quad) : quad; }

// Values 4 * i.. of the token.
vec4 quad_of_token(uint i) {
  return with_norm(x_quads[push.x_at / 4 + i], kIsNormed ? norm_quads[push.norm_at / 4 + i] : vec4(0));
}

// Of those, what an invocation needs first: it is loaded at once, and waited for while squares are added up.
vec4 held[kHeld], held_norm[kHeld];
uint held_at(uint j) {
  return kIsFloat ? 2 * (gl_LocalInvocationID.x % kLanes) + j : gl_LocalInvocationID.x + j * kThreads;
}

void load_held() {
  [[unroll]] for (uint j = 0; j < kHeld; ++j) {
    const uint i = min(held_at(j), push.n_in / 4 - 1);
    held[j] = x_quads[push.x_at / 4 + i];
    if (kIsNormed) held_norm[j] = norm_quads[push.norm_at / 4 + i];
  }
}

void norm_held() {
  [[unroll]] for (uint j = 0; j < kHeld; ++j) held[j] = with_norm(held[j], held_norm[j]);
}

// The token as products with quantised weights see it (rounding.glsl): codes, and the bits of each run's largest
// magnitude.
shared uvec4 codes[2 * kMostRuns];
shared uint largest[kMostRuns];

uint n_runs() { return push.n_in / 32; }

void clear_magnitudes() {
  for (uint i = gl_LocalInvocationID.x; i < kMostRuns; i += kThreads) largest[i] = 0;
  if (!kIsNormed) barrier();  // the norm has one
}

void note_magnitude(uint i, vec4 quad) {
  const uvec4 magnitudes = magnitude_bits(quad);
  atomicMax(largest[i / 8], max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w)));
}

void put_codes(uint i, vec4 quad) {
  codes[i / 4][i % 4] = packed(codes_of(quad, inverse_step(largest[i / 8], push.smallest_magnitude)));
}

void round_token() {
  const uint n_quads = 8 * n_runs(), first_loaded = gl_LocalInvocationID.x + kHeld * kThreads;
  [[unroll]] for (uint j = 0; j < kHeld; ++j)
    if (held_at(j) < n_quads) note_magnitude(held_at(j), held[j]);
  for (uint i = first_loaded; i < n_quads; i += kThreads) note_magnitude(i, quad_of_token(i));
  barrier();
  [[unroll]] for (uint j = 0; j < kHeld; ++j)
    if (held_at(j) < n_quads) put_codes(held_at(j), held[j]);
  for (uint i = first_loaded; i < n_quads; i += kThreads) put_codes(i, quad_of_token(i));
  barrier();
}

int sum_of_codes(uvec4 words) {
  const uint ones = 0x01010101;
  return dot4(words.x, ones) + dot4(words.y, ones) + dot4(words.z, ones) + dot4(words.w, ones);
}

// What a team computes: rows [first_row, first_row + kRows) of one product, or of both that are gated.
uint product, first_row;
uint rows_at[kValues];  // where they start, in bytes

// Of the pieces of all products; false where there are no more.
bool find_rows(uint piece) {
  const uint rows_of_piece = kTeams * kRows;
  for (product = 0; product < (kEnd == kGate ? 1 : push.n_products); ++product) {
    const uint n_pieces = (push.products[product].n_out + rows_of_piece - 1) / rows_of_piece;
    if (piece < n_pieces) break;
    piece -= n_pieces;
  }
  if (product == (kEnd == kGate ? 1 : push.n_products)) return false;
  first_row = piece * rows_of_piece + gl_LocalInvocationID.x / kLanes * kRows;
  [[unroll]] for (uint i = 0; i < kValues; ++i) {
    const Product of_row = push.products[product + i / kRows];
    rows_at[i] = of_row.weight_at + min(first_row + i % kRows, of_row.n_out - 1) * push.row_bytes;
  }
  return true;
}

// A lane's first weights: they are loaded while the token is not ready yet.
Run first_runs[kValues];
vec4 first_low[kValues], first_high[kValues];
float before;  // what the lane's product is added to

void load_first(uint lane) {
  if (kEnd == kAdd) {
    const Product of_row = push.products[product];
    before = result[of_row.out_at + min(first_row + min(lane, kRows - 1), of_row.n_out - 1)];
  }
  [[unroll]] for (uint r = 0; r < kValues; ++r) {
    if (kIsFloat) {
      load_8_floats(rows_at[r], min(lane, push.n_in / 8 - 1), first_low[r], first_high[r]);
    } else {
      first_runs[r] = load_run(rows_at[r], min(lane, n_runs() - 1));
    }
  }
}

// Run i of each row.
void add_runs(uint i, Run runs[kValues], inout float sums[kValues]) {
  const uvec4 low = codes[2 * i], high = codes[2 * i + 1];
  const vec4 scales = scales_of(step_of(largest[i], push.smallest_magnitude), sum_of_codes(low), sum_of_codes(high));
  [[unroll]] for (uint r = 0; r < kValues; ++r) sums[r] += run_product(runs[r], low, high, scales);
}

void multiply_runs(uint lane, inout float sums[kValues]) {
  if (lane < n_runs()) add_runs(lane, first_runs, sums);
  if (kMostRuns <= kLanes) return;
  for (uint i = lane + kLanes; i < n_runs(); i += kLanes) {
    Run runs[kValues];
    [[unroll]] for (uint r = 0; r < kValues; ++r) runs[r] = load_run(rows_at[r], i);
    add_runs(i, runs, sums);
  }
}

// Values 8 * i.. of each row.
void add_quads(vec4 x_low, vec4 x_high, vec4 low[kValues], vec4 high[kValues], inout float sums[kValues]) {
  [[unroll]] for (uint r = 0; r < kValues; ++r) sums[r] += dot(low[r], x_low) + dot(high[r], x_high);
}

void multiply_quads(uint lane, inout float sums[kValues]) {
  if (lane < push.n_in / 8) add_quads(held[0], held[1], first_low, first_high, sums);
  for (uint i = lane + kLanes; i < push.n_in / 8; i += kLanes) {
    vec4 low[kValues], high[kValues];
    [[unroll]] for (uint r = 0; r < kValues; ++r) load_8_floats(rows_at[r], i, low[r], high[r]);
    add_quads(quad_of_token(2 * i), quad_of_token(2 * i + 1), low, high, sums);
  }
}

float with_bias(Product of_row, uint row, float sum) {
  const float offset = of_row.has_bias != 0 ? uintBitsToFloat(weight_words[of_row.bias_at + row]) : 0;
  return sum + offset;
}

void store(uint team, uint r) {
  const Product of_row = push.products[product];
  const uint row = first_row + r;
  if (row >= of_row.n_out) return;
  const float value = with_bias(of_row, row, sum_of_team(team, r, kLanes));
  const uint at = of_row.out_at + row;
  if (kEnd == kStore) {
    result[at] = value;
  } else if (kEnd == kAdd) {
    result[at] = before + value;
  } else {
    result[at] = silu(value) * with_bias(push.products[1], row, sum_of_team(team, kRows + r, kLanes));
  }
}

void make_token_ready() {
  if (!kIsFloat) clear_magnitudes();
  if (kIsNormed) find_scale();
  norm_held();
  if (!kIsFloat) round_token();
}

void main() {
  const uint lane = gl_LocalInvocationID.x % kLanes, team = gl_LocalInvocationID.x / kLanes;
  const uint first_piece = flat_group() * push.n_pieces;
  if (!find_rows(first_piece)) return;
  load_held();
  for (uint piece = first_piece;;) {
    load_first(lane);
    if (piece == first_piece) make_token_ready();
    float sums[kValues];
    [[unroll]] for (uint r = 0; r < kValues; ++r) sums[r] = 0;
    if (kIsFloat) {
      multiply_quads(lane, sums);
    } else {
      multiply_runs(lane, sums);
    }
    add_up(sums, kValues, kLanes);
    if (lane < kRows) store(team, lane);
    if (++piece == first_piece + push.n_pieces || !find_rows(piece)) return;
    barrier();  // others may still read their sums
  }
}
