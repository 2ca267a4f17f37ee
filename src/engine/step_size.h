// Sizes that steps are rounded up to on devices that record them, so that one recording serves many batches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/checked.h"

namespace parlance {

// Rows of a step; what has more, a piece of a prompt, is not worth a recording.
inline constexpr std::array<int64_t, 14> kRecordedSizes = {1,  2,  4,  8,  12,  16,  24,
                                                           32, 48, 64, 96, 128, 192, 256};

inline bool is_recorded_size(int64_t n_tokens) {
  return n_tokens <= kRecordedSizes.back();
}

// The least of these sizes that holds n, but no more than most; 0 for 0.
inline int64_t recorded_size(int64_t n, int64_t most) {
  if (n == 0) return 0;
  return std::max(n, std::min(*std::ranges::lower_bound(kRecordedSizes, n), most));
}

// Bounds on the rows of sequences in a step, with rows as kernels tell them apart: one, a few, and many.
struct RunBounds {
  static constexpr int64_t kFewRows = 32;
  int64_t least = 1, most = INT64_MAX;

  // `seq`: of each row; those of a sequence lie next to each other.
  static RunBounds of(std::span<const int32_t> seq) {
    int64_t least = INT64_MAX, most = 0;
    for (auto run = seq.begin(); run != seq.end();) {
      const auto end = std::find_if(run, seq.end(), [&](int32_t other) { return other != *run; });
      least = std::min<int64_t>(least, end - run);
      most = std::max<int64_t>(most, end - run);
      run = end;
    }
    return {least > kFewRows ? kFewRows + 1 : std::min<int64_t>(least, 2), most > kFewRows ? INT64_MAX
                                                                           : most > 1      ? kFewRows
                                                                                           : 1};
  }

  // Below 9.
  uint64_t key() const {
    const auto kind = [](int64_t n) -> uint64_t { return n > kFewRows ? 2 : n > 1 ? 1 : 0; };
    return 3 * kind(least) + kind(most);
  }
};

// Bounds on positions, which kernels' grids go by, are multiples of this.
inline constexpr int64_t kBoundStride = 256;

// At least n; four for each doubling of the length.
inline int64_t position_bound(int64_t n) {
  const auto octave = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
  return align_up(n, std::max(kBoundStride, octave / 4));
}

}  // namespace parlance
