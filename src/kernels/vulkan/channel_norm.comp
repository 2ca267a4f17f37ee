// Each channel is normalised over its n values: a group for 16 channels, whose values lie next to each other.
// A sum may have a hundred thousand terms, so that what additions leave out is kept beside it.
#version 450
#extension GL_GOOGLE_include_directive : require

const uint kChannels = 16, kSlices = 16, kThreads = kChannels * kSlices;
layout(local_size_x = 256) in;
#include "grid.glsl"
#include "exact.glsl"
layout(binding = 0) buffer X { float x[]; };  // (n, n_channel)
layout(binding = 1) readonly buffer Weight { float weight[]; };
layout(binding = 2) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Push {
  uint n, n_channel;
  uint x_first, weight_first, bias_first;
  float eps;
} push;

shared vec2 parts[kThreads];

// A sum, and what it leaves out.
vec2 added(vec2 sum, float value) {
  precise const float total = sum.x + value;
  precise const float part = total - sum.x;
  precise const float rest = (sum.x - (total - part)) + (value - part);
  return vec2(total, sum.y + rest);
}

// Over the slices of each channel, in their order.
float sum_of_slices(vec2 sum, uint channel_of_group, uint slice) {
  barrier();
  parts[slice * kChannels + channel_of_group] = sum;
  barrier();
  vec2 total = vec2(0);
  for (uint i = 0; i < kSlices; ++i) {
    const vec2 part = parts[i * kChannels + channel_of_group];
    total = added(total, part.x);
    total.y += part.y;
  }
  return total.x + total.y;
}

void main() {
  const uint group = flat_group();
  if (group * kChannels >= push.n_channel) return;
  const uint own = gl_LocalInvocationID.x % kChannels, slice = gl_LocalInvocationID.x / kChannels;
  const uint channel = group * kChannels + own;
  const bool exists = channel < push.n_channel;
  const uint n = exists ? push.n : 0;

  vec2 sum = vec2(0);
  for (uint i = slice; i < n; i += kSlices) sum = added(sum, x[push.x_first + i * push.n_channel + channel]);
  const float mean = divided(sum_of_slices(sum, own, slice), float(push.n));
  sum = vec2(0);
  for (uint i = slice; i < n; i += kSlices) {
    const float distance = x[push.x_first + i * push.n_channel + channel] - mean;
    sum = added(sum, distance * distance);
  }
  const float scale = 1 / sqrt(sum_of_slices(sum, own, slice) / float(push.n) + push.eps);
  if (!exists) return;
  const float factor = weight[push.weight_first + channel], summand = bias[push.bias_first + channel];
  for (uint i = slice; i < n; i += kSlices) {
    const uint at = push.x_first + i * push.n_channel + channel;
    x[at] = (x[at] - mean) * scale * factor + summand;
  }
}
