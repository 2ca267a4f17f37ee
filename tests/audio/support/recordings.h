// Recordings in every format, written by the library that the reader uses too, and sounds to put into them.
#pragma once

#include <sndfile.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.h"

namespace parlance::test {

inline std::vector<float> sine(double frequency_hz, int rate_hz, size_t n) {
  std::vector<float> samples(n);
  for (size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * frequency_hz * static_cast<double>(i) / rate_hz;
    samples[i] = static_cast<float>(0.5 * std::sin(angle));
  }
  return samples;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file's bytes; samples [n_channels, n]. Empty when the library was built without the format.
inline std::vector<std::byte> encode(int format, std::span<const float> samples, int n_channels,
                                     int rate_hz) {
  SF_INFO info{};
  info.format = format;
  info.channels = n_channels;
  info.samplerate = rate_hz;
  if (!sf_format_check(&info)) return {};
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "recording";
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (!file) return {};
  sf_command(file, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  sf_writef_float(file, samples.data(), static_cast<sf_count_t>(samples.size()) / n_channels);
  sf_close(file);
  return read_bytes(path);
}

// A little-endian file by hand.
struct ByteWriter {
  std::vector<std::byte> bytes;

  ByteWriter& text(std::string_view letters) {
    for (const char c : letters) bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  ByteWriter& number(uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
    return *this;
  }
  ByteWriter& f32(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return number(bits, 4);
  }
  // RIFF or RF64 up to the first chunk.
  ByteWriter& riff(std::string_view id = "RIFF", uint64_t size = 0xffffffff) {
    return text(id).number(size, 4).text("WAVE");
  }
  ByteWriter& format_chunk(int tag, int n_channels, int rate_hz, int n_bits) {
    const int frame_bytes = n_channels * n_bits / 8;
    return text("fmt ")
        .number(16, 4)
        .number(static_cast<uint64_t>(tag), 2)
        .number(static_cast<uint64_t>(n_channels), 2)
        .number(static_cast<uint64_t>(rate_hz), 4)
        .number(static_cast<uint64_t>(rate_hz) * static_cast<uint64_t>(frame_bytes), 4)
        .number(static_cast<uint64_t>(frame_bytes), 2)
        .number(static_cast<uint64_t>(n_bits), 2);
  }
};

}  // namespace parlance::test
