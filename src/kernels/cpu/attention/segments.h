// segment_attention in tiles, by the kernels that attention over a cache of f32 has.
#pragma once

#include "kernels/cpu/attention/kernels.h"

namespace parlance::attention {

void run_segments(Stream& stream, const SegmentAttentionArgs& args, const Kernels& kernels);
size_t scratch_of_segments(const SegmentAttentionArgs& args, int n_threads, const Kernels& kernels);

template <const Kernels& kernels>
Cell<SegmentAttentionArgs> segment_cell() {
  return {[](Stream& stream, const SegmentAttentionArgs& args) { run_segments(stream, args, kernels); },
          [](const SegmentAttentionArgs& args, int n_threads) {
            return scratch_of_segments(args, n_threads, kernels);
          }};
}

}  // namespace parlance::attention
