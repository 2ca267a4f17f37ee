#include "cli/say_output.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "audio/resampler.h"
#include "audio_devices/speaker.h"
#include "base/os/file.h"
#include "tts/audio/speech_format.h"
#include "tts/audio/speech_wav.h"

namespace parlance {

namespace {

// The file is begun at once, so that nothing is computed for a place that cannot be written.
class WavFile : public SpeechOutput {
 public:
  WavFile(std::string path, AtomicFile file, WavEncoding encoding)
      : path_(std::move(path)), file_(std::move(file)), encoding_(encoding) {}

  Result<void> write(std::span<const float> samples) override {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    return {};
  }
  Result<void> finish() override {
    PARLANCE_CHECK(file_.write(speech_wav_header(encoding_, std::ssize(samples_))));
    std::vector<std::byte> bytes;
    for (std::span<const float> rest = samples_; !rest.empty();) {
      const auto piece = rest.first(std::min<size_t>(rest.size(), 1 << 16));
      rest = rest.subspan(piece.size());
      bytes.clear();
      append_speech(piece, encoding_, bytes);
      PARLANCE_CHECK(file_.write(bytes));
    }
    return file_.commit();
  }
  bool is_live() const override { return false; }
  std::string name() const override { return path_; }

 private:
  std::string path_;
  AtomicFile file_;
  WavEncoding encoding_;
  std::vector<float> samples_;
};

class WavPipe : public SpeechOutput {
 public:
  WavPipe(const Console& io, WavEncoding encoding) : io_(io), encoding_(encoding) {}

  Result<void> write(std::span<const float> samples) override {
    std::vector<std::byte> bytes;
    if (!has_begun_) bytes = speech_wav_header(encoding_, std::nullopt);
    has_begun_ = true;
    append_speech(samples, encoding_, bytes);
    io_.write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (io_.flush()) return {};
    return fail(ErrorCode::cancelled, "standard output is closed");
  }
  Result<void> finish() override { return {}; }
  std::string name() const override { return "-"; }

 private:
  const Console& io_;
  WavEncoding encoding_;
  bool has_begun_ = false;
};

class SpeakerOutput : public SpeechOutput {
 public:
  SpeakerOutput(std::unique_ptr<Speaker> speaker, std::optional<Resampler> resampler,
                std::function<bool()> is_over)
      : speaker_(std::move(speaker)), resampler_(std::move(resampler)), is_over_(std::move(is_over)) {}

  Result<void> write(std::span<const float> samples) override {
    if (!resampler_) return play(samples);
    resampled_.clear();
    PARLANCE_CHECK(resampler_->push(samples, resampled_));
    return play(resampled_);
  }
  Result<void> finish() override {
    if (resampler_) {
      resampled_.clear();
      PARLANCE_CHECK(resampler_->finish(resampled_));
      PARLANCE_CHECK(play(resampled_));
    }
    while (speaker_->played_frames() < n_written_) PARLANCE_CHECK(wait());
    return speaker_->drain();
  }
  std::string name() const override { return speaker_->name(); }

 private:
  Result<void> wait() {
    constexpr auto kPause = std::chrono::milliseconds(20);
    if (is_over_()) {
      speaker_->stop();
      return fail(ErrorCode::cancelled, "interrupted");
    }
    std::this_thread::sleep_for(kPause);
    return {};
  }
  Result<void> play(std::span<const float> samples) {
    while (!samples.empty()) {
      PARLANCE_TRY(const int64_t n, speaker_->write(samples));
      n_written_ += n;
      samples = samples.subspan(static_cast<size_t>(n));
      if (!samples.empty()) PARLANCE_CHECK(wait());
    }
    return {};
  }

  std::unique_ptr<Speaker> speaker_;
  std::optional<Resampler> resampler_;  // where the speaker's rate is not that of speech
  std::function<bool()> is_over_;
  std::vector<float> resampled_;
  int64_t n_written_ = 0;
};

}  // namespace

Result<std::unique_ptr<SpeechOutput>> open_wav_output(const Console& io, const std::string& path,
                                                      WavEncoding encoding) {
  if (path == "-") return std::make_unique<WavPipe>(io, encoding);
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  return std::make_unique<WavFile>(path, std::move(file), encoding);
}

Result<std::unique_ptr<SpeechOutput>> open_speaker_output(const std::string& device,
                                                          std::function<bool()> is_over) {
  // As much as a long answer, so that nobody waits for the speaker with what could be computed ahead.
  constexpr double kBufferSeconds = 120;
  PARLANCE_TRY(
      auto speaker,
      open_speaker({.device = device, .sample_rate_hz = kSpeechRateHz, .buffer_seconds = kBufferSeconds}));
  std::optional<Resampler> resampler;
  if (speaker->sample_rate_hz() != kSpeechRateHz) {
    PARLANCE_TRY(resampler, Resampler::create(kSpeechRateHz, speaker->sample_rate_hz()));
  }
  return std::make_unique<SpeakerOutput>(std::move(speaker), std::move(resampler), std::move(is_over));
}

}  // namespace parlance
