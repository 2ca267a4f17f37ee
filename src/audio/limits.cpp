#include "audio/limits.h"

namespace parlance {

Result<void> check_sample_rate(std::string_view name, int64_t rate_hz) {
  if (rate_hz >= kMinSampleRateHz && rate_hz <= kMaxSampleRateHz) return {};
  return fail(ErrorCode::invalid_argument, "{} has a sample rate of {} Hz; use one between {} and {} Hz",
              name, rate_hz, kMinSampleRateHz, kMaxSampleRateHz);
}

Result<void> check_channels(std::string_view name, int64_t n_channels) {
  if (n_channels >= 1 && n_channels <= kMaxChannels) return {};
  return fail(ErrorCode::invalid_argument, "{} has {} channels; use 1 to {}", name, n_channels, kMaxChannels);
}

}  // namespace parlance
