#include "audio/wav_writer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string_view>

#include "audio/little_endian.h"
#include "base/os/file.h"

namespace parlance {

namespace {

constexpr uint32_t kMaxBytes = 0xffffffff;     // that the sizes in a head can say
constexpr uint32_t kUntilTheEnd = 0x7fffffff;  // positive for programs that read it as a signed number too
constexpr int64_t kHeaderBytes = 44;

}  // namespace

std::optional<WavEncoding> parse_wav_encoding(std::string_view name) {
  if (name == "s16") return WavEncoding::s16;
  if (name == "s24") return WavEncoding::s24;
  if (name == "f32") return WavEncoding::f32;
  return std::nullopt;
}

int bytes_per_sample(WavEncoding encoding) {
  switch (encoding) {
    case WavEncoding::s16:
      return 2;
    case WavEncoding::s24:
      return 3;
    case WavEncoding::f32:
      return 4;
  }
  return 0;
}

std::vector<std::byte> wav_header(const WavFormat& format, std::optional<int64_t> n_samples) {
  const auto rate = static_cast<uint64_t>(format.sample_rate_hz);
  const auto value_bytes = static_cast<uint64_t>(bytes_per_sample(format.encoding));
  const auto sample_bytes = static_cast<uint64_t>(format.n_channels) * value_bytes;  // of all channels
  uint64_t data_bytes = kUntilTheEnd, riff_bytes = kUntilTheEnd;
  if (n_samples) {
    data_bytes = static_cast<uint64_t>(*n_samples) * sample_bytes;
    riff_bytes = data_bytes + kHeaderBytes - 8;
    assert(riff_bytes < kMaxBytes);
  }
  std::vector<std::byte> bytes;
  append_text(bytes, "RIFF");
  append_number(bytes, riff_bytes, 4);
  append_text(bytes, "WAVEfmt ");
  append_number(bytes, 16, 4);  // bytes of what describes the samples:
  append_number(bytes, format.encoding == WavEncoding::f32 ? 3 : 1, 2);  // floats, or whole numbers
  append_number(bytes, static_cast<uint64_t>(format.n_channels), 2);
  append_number(bytes, rate, 4);
  append_number(bytes, rate * sample_bytes, 4);
  append_number(bytes, sample_bytes, 2);
  append_number(bytes, 8 * value_bytes, 2);
  append_text(bytes, "data");
  append_number(bytes, data_bytes, 4);
  return bytes;
}

int16_t rounded_s16(float sample) {
  if (std::isnan(sample)) return 0;
  return static_cast<int16_t>(std::lrint(std::clamp(sample * 32768, -32768.0f, 32767.0f)));
}

void append_s16(std::span<const float> samples, std::vector<std::byte>& bytes) {
  const int n_bytes = bytes_per_sample(WavEncoding::s16);
  bytes.reserve(bytes.size() + samples.size() * static_cast<size_t>(n_bytes));
  for (const float sample : samples)
    append_number(bytes, static_cast<uint64_t>(rounded_s16(sample)), n_bytes);
}

Result<void> write_wav(const std::filesystem::path& path, std::span<const float> samples,
                       const WavFormat& format) {
  const auto n_channels = static_cast<size_t>(format.n_channels);
  assert(samples.size() % n_channels == 0 && format.encoding == WavEncoding::s16);
  if (samples.size() > (kMaxBytes - kHeaderBytes) / sizeof(int16_t)) {
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
