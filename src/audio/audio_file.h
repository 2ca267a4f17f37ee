// Recordings in files or in memory: WAV, FLAC, Ogg (Vorbis, Opus), WebM (Opus), MP3 and AIFF, mixed down to
// one channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

// What a file may ask for; beyond it the error is too_complex. Its own claims about its length are not
// believed: seconds are counted as they are read.
struct AudioLimits {
  int64_t max_bytes = int64_t{4} << 30;  // of the file
  double max_seconds = 4 * 3600;         // of the sound in it
};

// Reads a recording from its beginning to its end.
class AudioFile {
 public:
  static Result<AudioFile> open(const std::filesystem::path& path, const AudioLimits& limits = {});
  // The bytes must outlive the result; messages call them `name`.
  static Result<AudioFile> open(std::span<const std::byte> bytes, std::string name,
                                const AudioLimits& limits = {});

  AudioFile(AudioFile&& other) noexcept;
  AudioFile& operator=(AudioFile&& other) noexcept;
  ~AudioFile();

  int sample_rate_hz() const { return sample_rate_hz_; }
  int n_channels() const { return n_channels_; }

  // The next samples, of which whole-number formats fill [-1, 1): as many as `out` holds, fewer only at the
  // end of the recording, then none.
  Result<int64_t> read(std::span<float> out);

 private:
  struct Decoder;

  AudioFile();
  Result<void> mix(int64_t n, float* out);
  double seconds_read() const { return static_cast<double>(n_read_) / sample_rate_hz_; }

  std::string name_;
  AudioLimits limits_;
  int sample_rate_hz_ = 0, n_channels_ = 0;
  int64_t n_read_ = 0;
  std::vector<float> interleaved_;
  std::unique_ptr<Decoder> decoder_;
};

struct AudioClip {
  std::vector<float> samples;
  int sample_rate_hz = 0;
};

// A whole recording at the rate, divided by its peak if that exceeds 1.
Result<AudioClip> read_audio(const std::filesystem::path& path, int sample_rate_hz,
                             const AudioLimits& limits = {});
Result<AudioClip> read_audio(std::span<const std::byte> bytes, std::string name, int sample_rate_hz,
                             const AudioLimits& limits = {});

}  // namespace parlance
