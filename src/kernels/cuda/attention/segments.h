// What kernels of segment_attention are given.
#pragma once

#include "kernels/op_table.h"

namespace parlance::cuda::attention {

struct Segments {
  const float *q, *k, *v;
  const int32_t* bounds;
  const float* bias;  // or null
  float* out;
  int64_t bias_stride;
  int n_segments, n_head, n_head_kv, head_dim;
  float scale;
};

inline Segments segments_of(const SegmentAttentionArgs& args) {
  const auto size = [](int64_t n) { return static_cast<int>(n); };
  return {
      .q = args.q.as<const float>(),
      .k = args.k.as<const float>(),
      .v = args.v.as<const float>(),
      .bounds = args.bounds.as<const int32_t>(),
      .bias = args.bias ? args.bias.as<const float>() : nullptr,
      .out = args.out.as<float>(),
      .bias_stride = args.bias ? args.bias.ne[0] : 0,
      .n_segments = size(args.bounds.n_elements()) - 1,
      .n_head = size(args.q.ne[1]),
      .n_head_kv = size(args.k.ne[1]),
      .head_dim = size(args.q.ne[0]),
      .scale = args.scale,
  };
}

}  // namespace parlance::cuda::attention
