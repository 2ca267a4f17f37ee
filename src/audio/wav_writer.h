// WAV: files of 16-bit samples, and what a stream to a pipe begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

enum class WavEncoding { s16, s24, f32 };

// "s16", "s24" or "f32".
std::optional<WavEncoding> parse_wav_encoding(std::string_view name);

int bytes_per_sample(WavEncoding encoding);

struct WavFormat {
  int sample_rate_hz = 16000;
  int n_channels = 1;
  WavEncoding encoding = WavEncoding::s16;
};

// The bytes before the samples. Without n_samples (of each channel) the sizes say "until the end", as
// programs that write to a pipe put it.
std::vector<std::byte> wav_header(const WavFormat& format, std::optional<int64_t> n_samples);

// A sample as a whole number of 16 bits, rounded; beyond [-1, 1] it is clipped, and what is no number is 0.
int16_t rounded_s16(float sample);
// Appends the samples as such numbers.
void append_s16(std::span<const float> samples, std::vector<std::byte>& bytes);

// A whole file of 16-bit samples, which appears complete or not at all; samples [n_channels, n].
Result<void> write_wav(const std::filesystem::path& path, std::span<const float> samples,
                       const WavFormat& format);

}  // namespace parlance
