// Times that the forced aligner gave independently of each other, put into order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

// A sequence that never falls, of as many times as given. Those of the longest non-decreasing subsequence
// stay; one or two others between them take the nearer of the neighbours that stay, three and more are spread
// evenly over the gap. Takes n log n steps.
std::vector<int64_t> repair_timestamps(std::span<const int64_t> times_ms);

}  // namespace parlance
