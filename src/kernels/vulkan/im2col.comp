// Columns of a convolution: one invocation for each value.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;
#include "grid.glsl"
layout(binding = 0) readonly buffer X { float x[]; };            // (height, width, n_all)
layout(binding = 1) writeonly buffer Out { float result[]; };    // (n_places, n_channel, window)
layout(push_constant) uniform Push {
  uint n;  // values
  uint x_first, out_first;
  uint n_all, width, height;
  uint first_channel, n_channel;
  uint window_width, window_height;
  uint stride_x, stride_y;
  uint pad_x, pad_y, dilation_x;
  uint out_width, first_place;
} push;

void main() {
  const uint i = flat_invocation();
  if (i >= push.n) return;
  // Neighbours are channels of one tap: they lie next to each other in x.
  const uint n_taps = push.window_width * push.window_height;
  const uint channel = i % push.n_channel, tap = i / push.n_channel % n_taps;
  const uint column = i / (push.n_channel * n_taps), place = push.first_place + column;
  const int from_x = int(place % push.out_width * push.stride_x + tap % push.window_width * push.dilation_x) -
                     int(push.pad_x);
  const int from_y =
      int(place / push.out_width * push.stride_y + tap / push.window_width) - int(push.pad_y);
  float value = 0;
  if (from_x >= 0 && from_x < int(push.width) && from_y >= 0 && from_y < int(push.height)) {
    const uint pixel = uint(from_y) * push.width + uint(from_x);
    value = x[push.x_first + pixel * push.n_all + push.first_channel + channel];
  }
  result[push.out_first + (column * push.n_channel + channel) * n_taps + tap] = value;
}
