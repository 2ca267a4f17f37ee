// Attention of segments on GPUs of compute capability 9.0.
#pragma once

#include "kernels/cuda/attention/rounded_heads.h"
#include "kernels/op_table.h"

namespace parlance::cuda::attention {

// Whether run_segments_wide() is for this GPU and these heads.
bool segments_wide_serves(Stream& stream, const SegmentAttentionArgs& args);

// Whether it turns these heads on its way, as SegmentAttentionArgs::q_norm and those behind it say.
bool segments_wide_turns(const SegmentAttentionArgs& args);

// Rounds heads into scratch memory first, of which it takes rounded_heads_bytes().
void run_segments_wide(Stream& stream, const SegmentAttentionArgs& args);

// Of heads that are rounded.
void attend_rounded(Stream& stream, const RoundedHeads& heads, int64_t n_tokens);

}  // namespace parlance::cuda::attention
