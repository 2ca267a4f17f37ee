#include "assistant/sound_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <istream>
#include <optional>
#include <string_view>
#include <thread>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "audio/resampler.h"
#include "audio_devices/microphone.h"

namespace parlance {

namespace {

constexpr size_t kPiece = 4096;  // samples or bytes that are read at once
// Of a microphone: reading stops while the end of a sentence is transcribed, which takes a while on a slow
// machine.
constexpr double kBufferSeconds = 60;

// Samples of any rate on their way to the models' rate.
class ToModelRate {
 public:
  Result<void> push(std::span<const float> samples, int from_hz, std::vector<float>& out) {
    if (!resampler_) {
      PARLANCE_TRY(resampler_, Resampler::create(from_hz, kMelSampleRateHz));
    }
    return resampler_->push(samples, out);
  }
  Result<void> finish(std::vector<float>& out) {
    if (!resampler_) return {};
    return resampler_->finish(out);
  }

 private:
  std::optional<Resampler> resampler_;
};

class Recording final : public SoundSource {
 public:
  explicit Recording(AudioFile file) : file_(std::move(file)) {}

  Result<bool> read(std::vector<float>& out) override {
    std::array<float, kPiece> piece;
    PARLANCE_TRY(const int64_t n, file_.read(piece));
    PARLANCE_CHECK(
        to_rate_.push(std::span(piece).first(static_cast<size_t>(n)), file_.sample_rate_hz(), out));
    if (n == std::ssize(piece)) return true;
    PARLANCE_CHECK(to_rate_.finish(out));
    return false;
  }

 private:
  AudioFile file_;
  ToModelRate to_rate_;
};

class StandardInput final : public SoundSource {
 public:
  StandardInput(std::istream& in, const PcmFormat& raw_format) : in_(in), raw_format_(raw_format) {}

  Result<bool> read(std::vector<float>& out) override {
    const std::vector<std::byte> bytes = wait_for_bytes();
    if (in_.bad()) return fail(ErrorCode::io, "standard input cannot be read; send WAV or raw samples to it");
    const bool has_ended = bytes.empty();
    head_.insert(head_.end(), bytes.begin(), bytes.end());
    if (head_.size() < kHeadBytes && !has_ended) return true;
    if (!stream_) {
      PARLANCE_CHECK(choose_format());
    }
    std::vector<float> samples;
    PARLANCE_CHECK(stream_->push(std::exchange(head_, {}), samples));
    if (stream_->has_format()) {
      PARLANCE_CHECK(to_rate_.push(samples, stream_->format().sample_rate_hz, out));
    }
    if (!has_ended) return true;
    PARLANCE_CHECK(stream_->finish());
    PARLANCE_CHECK(to_rate_.finish(out));
    return false;
  }

 private:
  static constexpr size_t kHeadBytes = 4;  // that tell WAV

  // What has arrived by now, but at least a byte; none at the end.
  std::vector<std::byte> wait_for_bytes() {
    if (in_.peek() == std::istream::traits_type::eof()) return {};
    const auto n = std::clamp<std::streamsize>(in_.rdbuf()->in_avail(), 1, kPiece);
    std::vector<std::byte> bytes(static_cast<size_t>(n));
    in_.read(reinterpret_cast<char*>(bytes.data()), n);
    return bytes;
  }

  Result<void> choose_format() {
    const std::string_view head(reinterpret_cast<const char*>(head_.data()),
                                std::min(head_.size(), kHeadBytes));
    if (head == "RIFF" || head == "RF64") {
      stream_ = PcmStream::wav("standard input");
      return {};
    }
    if (head == "OggS" || head == "fLaC" || head == "FORM" || head.starts_with("ID3")) {
      return fail(ErrorCode::unsupported,
                  "standard input is a compressed recording; give the file by its name, or send WAV or raw "
                  "samples");
    }
    PARLANCE_TRY(stream_, PcmStream::raw("standard input", raw_format_));
    return {};
  }

  std::istream& in_;
  PcmFormat raw_format_;
  std::vector<std::byte> head_;  // what came before the format was known
  std::optional<PcmStream> stream_;
  ToModelRate to_rate_;
};

class MicrophoneSource final : public SoundSource {
 public:
  MicrophoneSource(std::unique_ptr<Microphone> microphone, std::function<bool()> is_over)
      : microphone_(std::move(microphone)), is_over_(std::move(is_over)) {}

  Result<bool> read(std::vector<float>& out) override {
    constexpr auto kRest = std::chrono::milliseconds(10);
    std::array<float, kPiece> piece;
    while (true) {
      if (!n_left_ && is_over_())
        n_left_ = static_cast<int64_t>(kBufferSeconds * microphone_->sample_rate_hz());
      PARLANCE_TRY(const int64_t n, microphone_->read(piece));
      PARLANCE_CHECK(
          to_rate_.push(std::span(piece).first(static_cast<size_t>(n)), microphone_->sample_rate_hz(), out));
      if (n_left_ && (n == 0 || (*n_left_ -= n) <= 0)) break;
      if (n > 0) return true;
      std::this_thread::sleep_for(kRest);
    }
    PARLANCE_CHECK(to_rate_.finish(out));
    return false;
  }
  bool is_patient() const override { return false; }
  int64_t n_lost() const override { return microphone_->overruns(); }

 private:
  std::unique_ptr<Microphone> microphone_;
  std::function<bool()> is_over_;
  std::optional<int64_t> n_left_;  // after the end: samples that it may still hold
  ToModelRate to_rate_;
};

}  // namespace

Result<std::unique_ptr<SoundSource>> open_recording(const std::filesystem::path& path) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(path));
  return std::make_unique<Recording>(std::move(file));
}

std::unique_ptr<SoundSource> open_standard_input(std::istream& in, const PcmFormat& raw_format) {
  return std::make_unique<StandardInput>(in, raw_format);
}

Result<std::unique_ptr<SoundSource>> open_microphone_source(const std::string& wanted,
                                                            std::function<bool()> is_over,
                                                            std::string& name) {
  PARLANCE_TRY(auto microphone,
               open_microphone(
                   {.device = wanted, .sample_rate_hz = kMelSampleRateHz, .buffer_seconds = kBufferSeconds}));
  name = microphone->name();
  return std::make_unique<MicrophoneSource>(std::move(microphone), std::move(is_over));
}

}  // namespace parlance
