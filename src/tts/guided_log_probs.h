// From the logits of one slot, with and without the prompt, to the log-probabilities that it is decided by.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_device.h"

namespace parlance {

struct GuidedRow {
  const float* cond;    // (n_vocab) logits with the prompt
  const float* uncond;  // (n_vocab) without it; null where there is no guidance
  float guidance;       // how far to go beyond `cond`, away from `uncond`
  int64_t n_vocab;
  int64_t mask_id;  // counts in the sums, but is never chosen: its log-probability is minus infinity
};

// Writes log_probs (n_vocab) and yields the largest; NaN when the logits are no finite numbers.
using GuidedLogProbs = float(const GuidedRow& row, float* log_probs);

// The definition, in plain loops, and what each instruction set runs.
GuidedLogProbs* guided_log_probs_of(Isa isa);

}  // namespace parlance
