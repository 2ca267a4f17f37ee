// segment_attention: a group serves some consecutive tokens of one head, segment by segment, in blocks of one key
// per lane; then a lane has some dimensions of the values. Blocks count from the segment's first key, so that sums
// do not tell what else the group serves.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "exp.glsl"

layout(constant_id = 0) const uint kHeadDim = 64;
layout(constant_id = 1) const uint kDimsOfLane = 1;
const uint kLanes = 64, kRows = 8;
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Q { float q[]; };        // (n_tokens, n_head, head_dim)
layout(binding = 1) readonly buffer K { float k[]; };        // (n_tokens, n_head_kv, head_dim)
layout(binding = 2) readonly buffer V { float v[]; };
layout(binding = 3) readonly buffer Bounds { int bounds[]; };  // (n_bounds)
layout(binding = 4) readonly buffer Bias { float bias[]; };    // (n_tokens, bias_width)
layout(binding = 5) writeonly buffer Out { float result[]; };  // as q
layout(push_constant) uniform Push {
  uint q_first, k_first, v_first, bounds_first, bias_first, out_first;
  uint n_tokens, n_head, n_head_kv, n_bounds;
  uint bias_width;  // 0: there is none
  uint head_dim;
  float scale;
} push;

const float kNothingSeen = -1e30;
shared float q_tile[kRows * kHeadDim];
shared float weights[kLanes * kRows];  // scores, then weights: of each key its rows
shared float largest[kRows], shrink[kRows], weight_sum[kRows];
shared float parts[kLanes];

// The number of the segment that a token lies in.
uint segment_of(uint token) {
  uint low = 0, high = push.n_bounds;  // the first bound behind the token is among (low, high]
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (uint(bounds[push.bounds_first + middle]) <= token) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Of each row the largest, or the sum, over the block's keys: eight lanes for a row, then its first.
float of_lanes(uint row, uint part, bool is_sum) {
  float value = is_sum ? 0 : kNothingSeen;
  for (uint key = part * 8; key < part * 8 + 8; ++key) {
    const float own = weights[key * kRows + row];
    value = is_sum ? value + own : max(value, own);
  }
  return value;
}

void main() {
  const uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.y, first_token = gl_WorkGroupID.x * kRows;
  const uint head_kv = head / (push.n_head / push.n_head_kv), stride = push.n_head_kv * kHeadDim;
  const uint end_token = min(first_token + kRows, push.n_tokens);
  const uint row = lane % kRows, part = lane / kRows;
  for (uint i = lane; i < kRows * kHeadDim; i += kLanes) {
    const uint token = first_token + i / kHeadDim;
    q_tile[i] = token < end_token
                    ? q[push.q_first + (token * push.n_head + head) * kHeadDim + i % kHeadDim]
                    : 0;
  }
  barrier();

  for (uint token = first_token; token < end_token;) {
    const uint segment = segment_of(token);
    const uint first_key = uint(bounds[push.bounds_first + segment]);
    const uint end_key = uint(bounds[push.bounds_first + segment + 1]);
    const uint last_token = min(end_token, end_key);  // before which the rows are of this segment
    if (lane < kRows) {
      largest[lane] = kNothingSeen;
      weight_sum[lane] = 0;
    }
    float sums[kRows * kDimsOfLane];
    [[unroll]] for (uint i = 0; i < kRows * kDimsOfLane; ++i) sums[i] = 0;
    barrier();

    for (uint block = first_key; block < end_key; block += kLanes) {
      const uint key = block + lane, n_keys = min(kLanes, end_key - block);
      const uint k_at = push.k_first + min(key, end_key - 1) * stride + head_kv * kHeadDim;
      float scores[kRows];
      [[unroll]] for (uint r = 0; r < kRows; ++r) scores[r] = 0;
      for (uint i = 0; i < push.head_dim; ++i) {  // no constant: some drivers would unroll it
        const float own = k[k_at + i];
        [[unroll]] for (uint r = 0; r < kRows; ++r) scores[r] += own * q_tile[r * kHeadDim + i];
      }
      [[unroll]] for (uint r = 0; r < kRows; ++r) {
        const uint of_row = first_token + r;
        float score = finite_or_nan(scores[r]) * push.scale;  // infinite, it could have no weight
        if (push.bias_width > 0 && key < end_key && of_row < end_token)
          score += bias[push.bias_first + of_row * push.bias_width + (key - first_key)];
        weights[lane * kRows + r] = key < end_key ? score : kNothingSeen;
      }
      barrier();
      parts[lane] = of_lanes(row, part, false);
      barrier();
      if (lane < kRows) {
        float top = largest[lane];
        for (uint i = 0; i < kLanes / kRows; ++i) top = max(top, parts[i * kRows + lane]);
        shrink[lane] = accurate_exp(largest[lane] - top);
        largest[lane] = top;
      }
      barrier();
      [[unroll]] for (uint r = 0; r < kRows; ++r) {
        const float weight = key < end_key ? accurate_exp(weights[lane * kRows + r] - largest[r]) : 0;
        weights[lane * kRows + r] = weight;
      }
      barrier();
      parts[lane] = of_lanes(row, part, true);
      [[unroll]] for (uint d = 0; d < kDimsOfLane; ++d) {
        const uint dimension = d * kLanes + lane;
        float block_sums[kRows];
        [[unroll]] for (uint r = 0; r < kRows; ++r) block_sums[r] = 0;
        if (dimension < kHeadDim) {
          const uint v_at = push.v_first + block * stride + head_kv * kHeadDim + dimension;
          for (uint i = 0; i < n_keys; ++i) {
            const float own = v[v_at + i * stride];
            [[unroll]] for (uint r = 0; r < kRows; ++r) block_sums[r] += weights[i * kRows + r] * own;
          }
        }
        [[unroll]] for (uint r = 0; r < kRows; ++r)
          sums[r * kDimsOfLane + d] = sums[r * kDimsOfLane + d] * shrink[r] + block_sums[r];
      }
      barrier();
      if (lane < kRows) {
        float sum = weight_sum[lane] * shrink[lane];
        for (uint i = 0; i < kLanes / kRows; ++i) sum += parts[i * kRows + lane];
        weight_sum[lane] = sum;
      }
    }
    barrier();
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      const uint of_row = first_token + r;
      if (of_row < token || of_row >= last_token) continue;
      [[unroll]] for (uint d = 0; d < kDimsOfLane; ++d) {
        const uint dimension = d * kLanes + lane;
        if (dimension < kHeadDim) {
          result[push.out_first + (of_row * push.n_head + head) * kHeadDim + dimension] =
              sums[r * kDimsOfLane + d] / weight_sum[r];
        }
      }
    }
    barrier();
    token = last_token;
  }
}
