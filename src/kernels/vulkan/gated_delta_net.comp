// gated_delta_net: several lanes for each row of the state (the keys of one value), which they hold while
// they walk along the tokens of a run. What q sees of a new state follows from what it sees of the old one,
// so that a token takes one round of sums.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "exp.glsl"

const uint kThreads = 128;
layout(constant_id = 0) const uint kKeys = 32;  // of a lane, at most
layout(local_size_x = kThreads) in;
// (head_dim, 2 n_key_head + n_value_head, n_tokens)
layout(binding = 0) readonly buffer Qkv { float qkv[]; };
layout(binding = 1) readonly buffer Alpha { float alphas[]; };  // (n_value_head, n_tokens)
layout(binding = 2) readonly buffer Beta { float betas[]; };
layout(binding = 3) readonly buffer A { float a[]; };  // (n_value_head)
layout(binding = 4) readonly buffer DtBias { float dt_bias[]; };
layout(binding = 5) buffer State { float state[]; };  // (head_dim, head_dim, n_value_head, n_seq)
layout(binding = 6) readonly buffer Seq { int seqs[]; };
layout(binding = 7) readonly buffer Pos { int positions[]; };
layout(binding = 8) writeonly buffer Out { float result[]; };  // (head_dim, n_value_head, n_tokens)
layout(binding = 9) buffer Kept { float kept[]; };  // (n_kept, n_places, n_seq): qkv, alpha, beta of a token
layout(binding = 10) readonly buffer From { int froms[]; };
layout(binding = 11) readonly buffer To { int tos[]; };
layout(push_constant) uniform Push {
  uint n_tokens;
  uint window;  // tokens: a group walks the runs that begin in its window
  uint head_dim;
  uint n_lanes;  // of a row
  uint n_key_head;
  uint n_value_head;
  uint n_places;
  float eps;
  uint qkv_at, alpha_at, beta_at, a_at, dt_bias_at, state_at, seq_at, pos_at, out_at;  // elements
  uint kept_at, from_at, to_at;
} push;

#include "runs.glsl"

// Sums over the keys of a token.
struct Sums {
  float qq, kk, kq;
  float sq, sk;  // with the row of the state
};

// Of the lanes' own keys. A token's are overwritten when the one after the next comes, by which time all
// lanes have read them.
shared Sums sums_of_lanes[2][kThreads];

uint head;   // value head
uint value;  // of the head: the row
bool exists;  // others compute what the last one does
uint first_key;
float row[kKeys];  // keys first_key, first_key + n_lanes, ...
uint n_walked = 0;  // tokens
Way way;

// Of the elements of a token's qkv.
uint n_qkv() { return (2 * push.n_key_head + push.n_value_head) * push.head_dim; }
uint q_at() { return head % push.n_key_head * push.head_dim; }
uint k_at() { return q_at() + push.n_key_head * push.head_dim; }
uint v_at() { return (2 * push.n_key_head + head) * push.head_dim + value; }

uint row_at() {
  return push.state_at + ((way.seq * push.n_value_head + head) * push.head_dim + value) * push.head_dim;
}
uint kept_at(uint p) { return push.kept_at + place_of(way, p) * (n_qkv() + 2 * push.n_value_head); }

// The inputs of one position of the run: of a token of the batch, or of one before that was kept.
struct Inputs {
  bool is_kept;
  uint qkv_at;
  uint alpha_at, beta_at;
};
Inputs inputs_of(uint p) {
  if (p < way.pos) {
    const uint at = kept_at(p);
    return Inputs(true, at, at + n_qkv() + head, at + n_qkv() + push.n_value_head + head);
  }
  const uint token = way.first + p - way.pos, gate = token * push.n_value_head + head;
  return Inputs(false, push.qkv_at + token * n_qkv(), push.alpha_at + gate, push.beta_at + gate);
}
float qkv_of(Inputs inputs, uint i) {
  return inputs.is_kept ? kept[inputs.qkv_at + i] : qkv[inputs.qkv_at + i];
}
float alpha_of(Inputs inputs) { return inputs.is_kept ? kept[inputs.alpha_at] : alphas[inputs.alpha_at]; }
float beta_of(Inputs inputs) { return inputs.is_kept ? kept[inputs.beta_at] : betas[inputs.beta_at]; }

// Each value's first lane keeps the element of its number of what is to be kept of a position.
void keep(uint p, Inputs inputs) {
  if (!exists || first_key != 0 || p < max(way.pos, way.to)) return;
  const uint at = kept_at(p);
  kept[at + v_at()] = qkv_of(inputs, v_at());
  if (head < push.n_key_head) {
    kept[at + q_at() + value] = qkv_of(inputs, q_at() + value);
    kept[at + k_at() + value] = qkv_of(inputs, k_at() + value);
  }
  if (value == 0) {
    kept[at + n_qkv() + head] = alpha_of(inputs);
    kept[at + n_qkv() + push.n_value_head + head] = beta_of(inputs);
  }
}

// max(x, 0) + log(1 + exp(-|x|)), the logarithm as 2 artanh(z) with z up to 1/3: what its series leaves out
// is below 2e-9 of it.
float softplus(float x) {
  const float y = accurate_exp(-abs(x));
  const float z = y / (2 + y);
  const float z2 = z * z;
  float sum = 1.0 / 15.0;
  sum = sum * z2 + 1.0 / 13.0;
  sum = sum * z2 + 1.0 / 11.0;
  sum = sum * z2 + 1.0 / 9.0;
  sum = sum * z2 + 1.0 / 7.0;
  sum = sum * z2 + 1.0 / 5.0;
  sum = sum * z2 + 1.0 / 3.0;
  sum = sum * z2 + 1.0;
  return max(x, 0) + 2 * z * sum;
}

Sums sum_up(Sums own) {
  const uint lane = gl_LocalInvocationID.x;
  const uint first_lane = lane - lane % push.n_lanes;
  const uint turn = n_walked++ % 2;
  sums_of_lanes[turn][lane] = own;
  barrier();
  Sums all = sums_of_lanes[turn][first_lane];
  for (uint i = 1; i < push.n_lanes; ++i) {
    const Sums other = sums_of_lanes[turn][first_lane + i];
    all.qq += other.qq;
    all.kk += other.kk;
    all.kq += other.kq;
    all.sq += other.sq;
    all.sk += other.sk;
  }
  return all;
}

void advance(uint p) {
  const Inputs inputs = inputs_of(p);
  keep(p, inputs);
  float k[kKeys];
  Sums own = Sums(0, 0, 0, 0, 0);
  [[unroll]] for (uint i = 0; i < kKeys; ++i) {
    const uint key = first_key + i * push.n_lanes;
    const bool is_key = key < push.head_dim;
    k[i] = is_key ? qkv_of(inputs, k_at() + key) : 0.0;
    const float q = is_key ? qkv_of(inputs, q_at() + key) : 0.0;
    own.qq += q * q;
    own.kk += k[i] * k[i];
    own.kq += k[i] * q;
    own.sq += row[i] * q;
    own.sk += row[i] * k[i];
  }
  const Sums sums = sum_up(own);

  const float step = softplus(alpha_of(inputs) + dt_bias[push.dt_bias_at + head]);
  const float decay = accurate_exp(a[push.a_at + head] * step);
  const float beta = sigmoid(beta_of(inputs));
  const float k_scale = 1 / max(sqrt(sums.kk), push.eps);
  const float q_scale = 1 / (max(sqrt(sums.qq), push.eps) * sqrt(float(push.head_dim)));
  const float seen = decay * k_scale * sums.sk;
  const float learned = beta * (qkv_of(inputs, v_at()) - seen) * k_scale;
  [[unroll]] for (uint i = 0; i < kKeys; ++i) row[i] = decay * row[i] + learned * k[i];
  if (exists && first_key == 0 && !inputs.is_kept) {
    const uint head_at = ((way.first + p - way.pos) * push.n_value_head + head) * push.head_dim;
    result[push.out_at + head_at + value] = q_scale * (decay * sums.sq + learned * sums.kq);
  }
}

void walk_run(uint first) {
  way = way_of(first);
  const uint at = row_at();
  [[unroll]] for (uint i = 0; i < kKeys; ++i) {
    const uint key = first_key + i * push.n_lanes;
    row[i] = key < push.head_dim && way.from > 0 ? state[at + key] : 0.0;
  }
  for (uint p = way.from; p <= way.end; ++p) {
    if (p == way.to) {
      [[unroll]] for (uint i = 0; i < kKeys; ++i) {
        const uint key = first_key + i * push.n_lanes;
        if (exists && key < push.head_dim) state[at + key] = row[i];
      }
    }
    if (p < way.end) advance(p);
  }
}

void main() {
  const uint lane = gl_LocalInvocationID.x;
  head = gl_WorkGroupID.y;
  const uint place = gl_WorkGroupID.z * (kThreads / push.n_lanes) + lane / push.n_lanes;
  exists = place < push.head_dim;
  value = min(place, push.head_dim - 1);
  first_key = lane % push.n_lanes;
  const uint first = gl_WorkGroupID.x * push.window;
  for (uint token = first; token < min(first + push.window, push.n_tokens); ++token) {
    if (starts_run(token)) walk_run(token);
  }
}
