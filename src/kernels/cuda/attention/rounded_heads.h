// Heads of q, k and v as segments_wide.cu multiplies them: normed and turned where that is asked for, rounded
// to f16, and what that leaves out as another f16.
#pragma once

#include <cstddef>

#include "kernels/cuda/attention/segments.h"

namespace parlance::cuda::attention {

inline constexpr int kRoundedDim = 128;  // of heads, with zeros behind shorter ones

// Rows of a segment begin at a multiple of eight and are followed by rows of zeros.
struct RoundedHeads : Segments {
  const float *q_norm, *k_norm;  // or null
  const float* angles;           // (head_dim / 2, 2, n_tokens): cos, then sin; or null
  float eps;
  // Halves and rests of rows: see QueryRow and TileRows (rounded_heads.cuh).
  uint16_t* rounded;
  int n_rows;  // of all segments, and as many behind them as a step of keys may read
};

size_t rounded_heads_bytes(const SegmentAttentionArgs& args);
// Such heads in memory from `at` on.
RoundedHeads rounded_heads_at(std::byte* at, const SegmentAttentionArgs& args);

}  // namespace parlance::cuda::attention
