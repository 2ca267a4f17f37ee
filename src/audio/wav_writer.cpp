#include "audio/wav_writer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/file.h"

namespace parlance {

namespace {

constexpr int64_t kBytesPerSample = 2;
constexpr uint32_t kUntilTheEnd = 0xffffffff;
constexpr int64_t kHeaderBytes = 44;

void append(std::vector<std::byte>& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

void append(std::vector<std::byte>& bytes, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

}  // namespace

std::vector<std::byte> wav_header(const WavFormat& format, std::optional<int64_t> n_samples) {
  const auto rate = static_cast<uint64_t>(format.sample_rate_hz);
  const auto sample_bytes = static_cast<uint64_t>(format.n_channels * kBytesPerSample);
  uint64_t data_bytes = kUntilTheEnd, riff_bytes = kUntilTheEnd;
  if (n_samples) {
    data_bytes = static_cast<uint64_t>(*n_samples) * sample_bytes;
    riff_bytes = data_bytes + kHeaderBytes - 8;
    assert(riff_bytes < kUntilTheEnd);
  }
  std::vector<std::byte> bytes;
  append(bytes, "RIFF");
  append(bytes, riff_bytes, 4);
  append(bytes, "WAVEfmt ");
  append(bytes, 16, 4);  // bytes of what describes the samples:
  append(bytes, 1, 2);   // whole numbers
  append(bytes, static_cast<uint64_t>(format.n_channels), 2);
  append(bytes, rate, 4);
  append(bytes, rate * sample_bytes, 4);
  append(bytes, sample_bytes, 2);
  append(bytes, 8 * kBytesPerSample, 2);
  append(bytes, "data");
  append(bytes, data_bytes, 4);
  return bytes;
}

void append_s16(std::span<const float> samples, std::vector<std::byte>& bytes) {
  bytes.reserve(bytes.size() + samples.size() * kBytesPerSample);
  for (const float sample : samples) {
    const float scaled = std::isnan(sample) ? 0 : std::clamp(sample * 32768, -32768.0f, 32767.0f);
    append(bytes, static_cast<uint64_t>(std::lrint(scaled)), kBytesPerSample);
  }
}

Result<void> write_wav(const std::filesystem::path& path, std::span<const float> samples,
                       const WavFormat& format) {
  const auto n_channels = static_cast<size_t>(format.n_channels);
  assert(samples.size() % n_channels == 0);
  if (samples.size() > (kUntilTheEnd - kHeaderBytes) / kBytesPerSample) {
    return fail(ErrorCode::invalid_argument,
                "{} would be longer than the 4 GiB that WAV holds; write it in parts", path.string());
  }
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(wav_header(format, static_cast<int64_t>(samples.size() / n_channels))));
  std::vector<std::byte> bytes;
  while (!samples.empty()) {
    const auto piece = samples.first(std::min<size_t>(samples.size(), 1 << 16));
    samples = samples.subspan(piece.size());
    bytes.clear();
    append_s16(piece, bytes);
    PARLANCE_CHECK(file.write(bytes));
  }
  return file.commit();
}

}  // namespace parlance
