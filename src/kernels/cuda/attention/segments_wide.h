// Attention of segments on GPUs of compute capability 9.0.
#pragma once

#include "kernels/op_table.h"

namespace parlance::cuda::attention {

// Whether run_segments_wide() is for this GPU and these heads.
bool segments_wide_serves(Stream& stream, const SegmentAttentionArgs& args);

// Whether it turns these heads on its way, as SegmentAttentionArgs::q_norm and those behind it say.
bool segments_wide_turns(const SegmentAttentionArgs& args);

size_t segments_wide_scratch(const SegmentAttentionArgs& args);
void run_segments_wide(Stream& stream, const SegmentAttentionArgs& args);

}  // namespace parlance::cuda::attention
