// What sound from outside may claim about itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace parlance {

inline constexpr int kMinSampleRateHz = 1000;
inline constexpr int kMaxSampleRateHz = 768000;
inline constexpr int kMaxChannels = 64;

// Samples fill [-1, 1]; some programs write floats of any scale, but whole numbers of 32 bits are the largest
// that are meant. Sums of squares of what is within stay finite.
inline constexpr float kLoudest = 1e10f;

// Refuse what no sound card and no recording has; `name` is what has it.
Result<void> check_sample_rate(std::string_view name, int64_t rate_hz);
Result<void> check_channels(std::string_view name, int64_t n_channels);

}  // namespace parlance
