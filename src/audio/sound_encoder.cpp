#include "audio/sound_encoder.h"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "audio/wav_writer.h"

namespace parlance {

namespace {

struct SoundFormatRow {
  SoundFormat format;
  std::string_view name, media_type;
  int library_format;  // 0: the bytes are made here
};

constexpr std::array kSoundFormats = {
    SoundFormatRow{SoundFormat::pcm, "pcm", "audio/pcm", 0},
    SoundFormatRow{SoundFormat::wav, "wav", "audio/wav", 0},
    SoundFormatRow{SoundFormat::flac, "flac", "audio/flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
    SoundFormatRow{SoundFormat::mp3, "mp3", "audio/mpeg", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III},
    SoundFormatRow{SoundFormat::opus, "opus", "audio/ogg", SF_FORMAT_OGG | SF_FORMAT_OPUS},
};

const SoundFormatRow& row_of(SoundFormat format) {
  return *std::find_if(kSoundFormats.begin(), kSoundFormats.end(),
                       [&](const SoundFormatRow& row) { return row.format == format; });
}

}  // namespace

std::optional<SoundFormat> sound_format_from_name(std::string_view name) {
  for (const SoundFormatRow& row : kSoundFormats) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

std::string_view media_type_of(SoundFormat format) {
  return row_of(format).media_type;
}

// What the library takes for a file: bytes behind those that have been handed out can still be changed,
// earlier ones not, and what it would change in them (sizes in a head) stays as it was.
struct SoundEncoder::Impl {
  SoundFormat format = SoundFormat::pcm;
  int sample_rate_hz = 0;
  SNDFILE* file = nullptr;
  std::string bytes;      // not handed out yet
  sf_count_t n_gone = 0;  // handed out
  sf_count_t position = 0;
  bool has_begun = false;  // a WAV's head is on its way

  ~Impl() {
    if (file) sf_close(file);
  }

  sf_count_t length() const { return n_gone + static_cast<sf_count_t>(bytes.size()); }

  static sf_count_t get_length(void* self) { return static_cast<Impl*>(self)->length(); }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    auto& impl = *static_cast<Impl*>(self);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? impl.position : impl.length();
    impl.position = std::clamp<sf_count_t>(from + offset, 0, impl.length());
    return impl.position;
  }
  static sf_count_t read(void*, sf_count_t, void*) { return 0; }
  static sf_count_t write(const void* data, sf_count_t n, void* self) {
    auto& impl = *static_cast<Impl*>(self);
    const auto* text = static_cast<const char*>(data);
    for (sf_count_t i = 0; i < n; ++i, ++impl.position) {
      if (impl.position < impl.n_gone) continue;
      const auto at = static_cast<size_t>(impl.position - impl.n_gone);
      if (at < impl.bytes.size()) {
        impl.bytes[at] = text[i];
      } else {
        impl.bytes += text[i];
      }
    }
    return n;
  }
  static sf_count_t tell(void* self) { return static_cast<Impl*>(self)->position; }

  std::string take() {
    n_gone += static_cast<sf_count_t>(bytes.size());
    return std::exchange(bytes, {});
  }
};

SoundEncoder::SoundEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SoundEncoder::SoundEncoder(SoundEncoder&&) noexcept = default;
SoundEncoder& SoundEncoder::operator=(SoundEncoder&&) noexcept = default;
SoundEncoder::~SoundEncoder() = default;

Result<SoundEncoder> SoundEncoder::open(SoundFormat format, int sample_rate_hz) {
  auto impl = std::make_unique<Impl>();
  impl->format = format;
  impl->sample_rate_hz = sample_rate_hz;
  if (const int library_format = row_of(format).library_format; library_format != 0) {
    SF_INFO info{};
    info.samplerate = sample_rate_hz;
    info.channels = 1;
    info.format = library_format;
    SF_VIRTUAL_IO io{Impl::get_length, Impl::seek, Impl::read, Impl::write, Impl::tell};
    impl->file = sf_open_virtual(&io, SFM_WRITE, &info, impl.get());
    if (!impl->file) {
      return fail(ErrorCode::unsupported,
                  "sound as {} cannot be written on this machine ({}); ask for wav or flac",
                  row_of(format).name, sf_strerror(nullptr));
    }
    sf_command(impl->file, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  }
  return SoundEncoder(std::move(impl));
}

Result<std::string> SoundEncoder::push(std::span<const float> samples) {
  if (impl_->file) {
    if (sf_writef_float(impl_->file, samples.data(), std::ssize(samples)) != std::ssize(samples)) {
      return fail(ErrorCode::io, "sound could not be encoded: {}", sf_strerror(impl_->file));
    }
    return impl_->take();
  }
  std::vector<std::byte> bytes;
  if (impl_->format == SoundFormat::wav && !std::exchange(impl_->has_begun, true)) {
    bytes = wav_header({.sample_rate_hz = impl_->sample_rate_hz}, std::nullopt);
  }
  append_s16(samples, bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> SoundEncoder::finish() {
  if (!impl_->file) return push({});
  const int error = sf_close(std::exchange(impl_->file, nullptr));
  if (error != 0) return fail(ErrorCode::io, "sound could not be encoded: {}", sf_error_number(error));
  return impl_->take();
}

void tell_wav_length(std::string& file, int sample_rate_hz) {
  const size_t n_head = wav_header({.sample_rate_hz = sample_rate_hz}, 0).size();
  if (file.size() < n_head) return;
  const auto head = wav_header({.sample_rate_hz = sample_rate_hz},
                               static_cast<int64_t>((file.size() - n_head) / sizeof(int16_t)));
  std::ranges::transform(head, file.begin(), [](std::byte b) { return static_cast<char>(b); });
}

}  // namespace parlance
