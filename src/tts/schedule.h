// How many slots each step of the decoder decides.
#pragma once

#include <cstdint>
#include <vector>

namespace parlance {

// n_step + 1 times from 0 to 1: evenly spaced ones bent by `shift`; below 1 the first steps are the small
// ones.
std::vector<float> step_times(int n_step, float shift);

// For each of n_step steps the slots that it decides; their sum is n_slots. A step may decide none.
std::vector<int64_t> slots_per_step(int n_step, float shift, int64_t n_slots);

}  // namespace parlance
