// Where a recording that is too long for one inference is cut: near the wanted length, where it is quietest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace parlance {

struct SplitRule {
  int rate_hz = 16000;
  double max_seconds = 1200;    // what is not longer stays whole; cuts are aimed there
  double search_seconds = 5;    // how far before and after that a cut may lie; less than max_seconds
  double window_seconds = 0.1;  // the stretch whose loudness is compared
  double whole_seconds = 0;     // what is not longer stays whole, too

  // No piece is longer than `seconds`: cuts lie in the second half of what is.
  static SplitRule within(double seconds, int rate_hz) {
    return {.rate_hz = rate_hz,
            .max_seconds = 0.75 * seconds,
            .search_seconds = 0.25 * seconds,
            .whole_seconds = seconds};
  }
};

// How many samples of `rest`, which begins where the last cut was made, belong to the next piece: at least
// max_seconds - search_seconds of them. Empty when no cut is needed, or none can be chosen before more
// samples have come; `is_end` says that none will. A stream that asks with every few samples is cut exactly
// where the whole recording is.
std::optional<int64_t> next_cut(std::span<const float> rest, const SplitRule& rule, bool is_end);

// The samples at which pieces after the first begin, rising. The pieces joined are the recording.
std::vector<int64_t> split_points(std::span<const float> samples, const SplitRule& rule);

}  // namespace parlance
