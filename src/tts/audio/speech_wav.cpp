#include "tts/audio/speech_wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// The bits of a sample, of which the low ones are written.
uint32_t encoded(float sample, WavEncoding encoding) {
  if (!std::isfinite(sample)) sample = 0;
  if (encoding == WavEncoding::f32) return std::bit_cast<uint32_t>(sample);
  const float largest = encoding == WavEncoding::s16 ? 32767 : 8388607;
  return static_cast<uint32_t>(static_cast<int32_t>(std::clamp(sample, -1.0f, 1.0f) * largest));
}

}  // namespace

std::vector<std::byte> speech_wav_header(WavEncoding encoding, std::optional<int64_t> n_samples) {
  return wav_header({.sample_rate_hz = kSpeechRateHz, .n_channels = 1, .encoding = encoding}, n_samples);
}

void append_speech(std::span<const float> samples, WavEncoding encoding, std::vector<std::byte>& bytes) {
  const int n_bytes = bytes_per_sample(encoding);
  bytes.reserve(bytes.size() + samples.size() * static_cast<size_t>(n_bytes));
  for (const float sample : samples) {
    const uint32_t bits = encoded(sample, encoding);
    for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<std::byte>(bits >> 8 * i));
  }
}

}  // namespace parlance
