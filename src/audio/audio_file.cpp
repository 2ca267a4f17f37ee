#include "audio/audio_file.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "audio/limits.h"
#include "audio/resampler.h"
#include "audio/webm.h"
#include "base/os/file.h"

namespace parlance {

namespace {

constexpr int64_t kPiece = 4096;  // samples of each channel that are decoded at once
constexpr std::string_view kRemedy =
    "convert it to WAV, for example with: ffmpeg -i INPUT -ac 1 -ar 16000 OUTPUT.wav";

// Whether the bytes begin as a format that is read. The library knows more, old and rare ones, whose readers
// nobody has looked at for long: those are kept from what comes from outside.
bool is_known(std::span<const std::byte> bytes) {
  char head[12] = {};
  std::memcpy(head, bytes.data(), std::min(bytes.size(), sizeof head));
  const std::string_view first(head, 4), third(head + 8, 4);
  if (first == "RIFF" || first == "RIFX" || first == "RF64") return third == "WAVE";
  if (first == "FORM") return third == "AIFF" || third == "AIFC";
  const bool is_mpeg = head[0] == '\xff' && (head[1] & 0xe0) == 0xe0;
  return first == "fLaC" || first == "OggS" || first.starts_with("ID3") || is_mpeg;
}

// The library's words as they fit into a line.
std::string reason_of(SNDFILE* file) {
  std::string reason = sf_strerror(file);
  for (char& c : reason) {
    if (c < ' ' || c > '~') c = ' ';
  }
  reason.resize(std::min(reason.size(), size_t{200}));
  while (!reason.empty() && (reason.back() == ' ' || reason.back() == '.')) reason.pop_back();
  return reason;
}

// The library's view of bytes in memory.
struct Memory {
  std::span<const std::byte> bytes;
  sf_count_t at = 0;
};

sf_count_t memory_size(void* user) {
  return static_cast<sf_count_t>(static_cast<Memory*>(user)->bytes.size());
}
sf_count_t memory_tell(void* user) {
  return static_cast<Memory*>(user)->at;
}
sf_count_t memory_seek(sf_count_t offset, int whence, void* user) {
  auto& memory = *static_cast<Memory*>(user);
  const sf_count_t size = memory_size(user);
  const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? memory.at : size;
  sf_count_t to;
  if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
  memory.at = std::min(to, size);
  return memory.at;
}
sf_count_t memory_read(void* out, sf_count_t n_bytes, void* user) {
  auto& memory = *static_cast<Memory*>(user);
  const sf_count_t n = std::clamp<sf_count_t>(n_bytes, 0, memory_size(user) - memory.at);
  if (n > 0) std::memcpy(out, memory.bytes.data() + memory.at, static_cast<size_t>(n));
  memory.at += n;
  return n;
}
sf_count_t memory_write(const void*, sf_count_t, void*) {
  return 0;
}

}  // namespace

// Where the bytes come from, and the library's state.
struct AudioFile::Decoder {
  std::optional<MappedFile> mapping;
  std::vector<std::byte> converted;  // where the library knows another form of the same
  Memory memory;
  SNDFILE* file = nullptr;

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (file) sf_close(file);
  }
};

AudioFile::AudioFile() = default;
AudioFile::AudioFile(AudioFile&& other) noexcept = default;
AudioFile& AudioFile::operator=(AudioFile&& other) noexcept = default;
AudioFile::~AudioFile() = default;

Result<AudioFile> AudioFile::open(const std::filesystem::path& path, const AudioLimits& limits) {
  PARLANCE_TRY(MappedFile mapping, MappedFile::open(path));
  PARLANCE_TRY(AudioFile file, open(mapping.bytes(), path.string(), limits));
  file.decoder_->mapping = std::move(mapping);
  return file;
}

Result<AudioFile> AudioFile::open(std::span<const std::byte> bytes, std::string name,
                                  const AudioLimits& limits) {
  const auto n_bytes = static_cast<int64_t>(bytes.size());
  if (n_bytes > limits.max_bytes) {
    return fail(ErrorCode::too_complex, "{} has {} bytes, more than the limit of {}; cut it into parts", name,
                n_bytes, limits.max_bytes);
  }
  if (bytes.empty()) {
    return fail(ErrorCode::corrupt_file, "{} is empty; expected a recording", name);
  }
  AudioFile audio;
  audio.decoder_ = std::make_unique<Decoder>();
  if (is_webm(bytes)) {
    PARLANCE_TRY(audio.decoder_->converted, ogg_of_webm(bytes, name));
    bytes = audio.decoder_->converted;
  } else if (!is_known(bytes)) {
    return fail(ErrorCode::unsupported, "{} is not WAV, FLAC, Ogg, WebM, MP3 or AIFF; {}", name, kRemedy);
  }
  audio.decoder_->memory.bytes = bytes;
  SF_VIRTUAL_IO io{memory_size, memory_seek, memory_read, memory_write, memory_tell};
  SF_INFO info{};
  audio.decoder_->file = sf_open_virtual(&io, SFM_READ, &info, &audio.decoder_->memory);
  if (!audio.decoder_->file) {
    return fail(ErrorCode::corrupt_file, "{} cannot be read as a recording: {}; {}", name, reason_of(nullptr),
                kRemedy);
  }
  PARLANCE_CHECK(check_channels(name, info.channels));
  PARLANCE_CHECK(check_sample_rate(name, info.samplerate));
  audio.name_ = std::move(name);
  audio.limits_ = limits;
  audio.sample_rate_hz_ = info.samplerate;
  audio.n_channels_ = info.channels;
  return audio;
}

Result<int64_t> AudioFile::read(std::span<float> out) {
  int64_t n_total = 0;
  while (n_total < static_cast<int64_t>(out.size())) {
    if (decoder_->mapping && !decoder_->mapping->still_whole())
      return fail(ErrorCode::io, "{} was shortened while it was read; try again", name_);
    const int64_t n_wanted = std::min(kPiece, static_cast<int64_t>(out.size()) - n_total);
    interleaved_.resize(static_cast<size_t>(kPiece * n_channels_));
    const int64_t n = sf_readf_float(decoder_->file, interleaved_.data(), n_wanted);
    if (n <= 0) {
      if (sf_error(decoder_->file) == SF_ERR_NO_ERROR) break;
      return fail(ErrorCode::corrupt_file, "{} cannot be read from {:.2f} s on: {}; {}", name_,
                  seconds_read(), reason_of(decoder_->file), kRemedy);
    }
    PARLANCE_CHECK(mix(n, out.data() + n_total));
    n_total += n;
    if (seconds_read() > limits_.max_seconds) {
      return fail(ErrorCode::too_complex, "{} is longer than the limit of {:.0f} s; cut it into parts", name_,
                  limits_.max_seconds);
    }
  }
  return n_total;
}

// The mean of the channels of the n samples that were decoded last.
Result<void> AudioFile::mix(int64_t n, float* out) {
  const float* channels = interleaved_.data();
  for (int64_t i = 0; i < n; ++i, ++n_read_) {
    float sum = 0;
    for (int channel = 0; channel < n_channels_; ++channel) sum += *channels++;
    out[i] = sum / static_cast<float>(n_channels_);
    if (!(std::fabs(out[i]) <= kLoudest)) {
      return fail(
          ErrorCode::corrupt_file,
          "{} has a sample that is no number, or far too large, at {:.3f} s; record or export it again",
          name_, seconds_read());
    }
  }
  return {};
}

namespace {

Result<AudioClip> read_all(AudioFile file, int sample_rate_hz) {
  PARLANCE_TRY(Resampler resampler, Resampler::create(file.sample_rate_hz(), sample_rate_hz));
  AudioClip clip{.samples = {}, .sample_rate_hz = sample_rate_hz};
  std::vector<float> piece(kPiece);
  for (int64_t n = kPiece; n == kPiece;) {
    PARLANCE_TRY(n, file.read(piece));
    PARLANCE_CHECK(resampler.push(std::span(piece).first(static_cast<size_t>(n)), clip.samples));
  }
  PARLANCE_CHECK(resampler.finish(clip.samples));
  float peak = 1;
  for (const float sample : clip.samples) peak = std::max(peak, std::fabs(sample));
  if (peak > 1) {
    for (float& sample : clip.samples) sample /= peak;
  }
  return clip;
}

}  // namespace

Result<AudioClip> read_audio(const std::filesystem::path& path, int sample_rate_hz,
                             const AudioLimits& limits) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(path, limits));
  return read_all(std::move(file), sample_rate_hz);
}

Result<AudioClip> read_audio(std::span<const std::byte> bytes, std::string name, int sample_rate_hz,
                             const AudioLimits& limits) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(bytes, std::move(name), limits));
  return read_all(std::move(file), sample_rate_hz);
}

}  // namespace parlance
