// Sound to the bytes of a file while it is made: for those who send it on and keep nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance {

enum class SoundFormat { pcm, wav, flac, mp3, opus };

// "pcm", "wav", "flac", "mp3" or "opus".
std::optional<SoundFormat> sound_format_from_name(std::string_view name);
std::string_view media_type_of(SoundFormat format);  // "audio/wav"

// One channel; 16-bit samples in the formats that keep them. A WAV file's head says "until the end".
class SoundEncoder {
 public:
  // Error: the system's library of formats cannot write this one.
  static Result<SoundEncoder> open(SoundFormat format, int sample_rate_hz);
  SoundEncoder(SoundEncoder&&) noexcept;
  SoundEncoder& operator=(SoundEncoder&&) noexcept;
  ~SoundEncoder();

  // Bytes that are final with these samples, of which there may be none yet.
  Result<std::string> push(std::span<const float> samples);
  // The rest.
  Result<std::string> finish();

 private:
  struct Impl;
  explicit SoundEncoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The whole bytes of a WAV file that such an encoder has made: its head now says how long it is.
void tell_wav_length(std::string& file, int sample_rate_hz);

}  // namespace parlance
