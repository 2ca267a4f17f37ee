// The sums of a transposed convolution: one invocation for each value, which gathers the two products that meet
// there.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer Columns { float columns[]; };  // (n_columns, 2 stride, n_channel)
layout(binding = 1) readonly buffer Bias { float bias[]; };        // (n_channel)
layout(binding = 2) writeonly buffer Out { float result[]; };      // (n_columns stride, n_channel)
layout(push_constant) uniform Push {
  uint n;  // values
  uint columns_first, bias_first, out_first;
  uint n_channel, n_columns, stride;
} push;

float product(uint column, uint tap, uint channel) {
  return columns[push.columns_first + (column * 2 * push.stride + tap) * push.n_channel + channel];
}

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  const uint channel = i % push.n_channel, place = i / push.n_channel;
  float sum = bias[push.bias_first + channel];
  // With an odd stride the last place is the bias alone.
  if (push.stride % 2 == 0 || place + 1 < push.n_columns * push.stride) {
    const uint moved = place + (push.stride + 1) / 2;
    const uint column = moved / push.stride, tap = moved % push.stride;
    if (column > 0) sum += product(column - 1, tap + push.stride, channel);
    if (column < push.n_columns) sum += product(column, tap, channel);
  }
  result[push.out_first + i] = sum;
}
