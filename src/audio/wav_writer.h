// WAV with 16-bit samples: files, and what a stream to a pipe begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace parlance {

struct WavFormat {
  int sample_rate_hz = 16000;
  int n_channels = 1;
};

// The bytes before the samples. Without n_samples (of each channel) the sizes say "until the end", as
// programs that write to a pipe put it.
std::vector<std::byte> wav_header(const WavFormat& format, std::optional<int64_t> n_samples);

// Appends the samples as 16-bit whole numbers, rounded; beyond [-1, 1] they are clipped.
void append_s16(std::span<const float> samples, std::vector<std::byte>& bytes);

// A whole file, which appears complete or not at all; samples [n_channels, n].
Result<void> write_wav(const std::filesystem::path& path, std::span<const float> samples,
                       const WavFormat& format);

}  // namespace parlance
