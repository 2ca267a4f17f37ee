#include "voice/playback.h"

#include <algorithm>
#include <utility>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// What the device holds: enough for a thread that gets its processor late. What is stopped is dropped there,
// so this delays nothing.
constexpr double kAheadSeconds = 0.25;
constexpr double kFadeSeconds = 0.008;  // instead of a click

class SilentSpeaker final : public Speaker {
 public:
  explicit SilentSpeaker(TalkClock clock) : clock_(std::move(clock)) {}

  const std::string& name() const override { return name_; }
  int sample_rate_hz() const override { return kSpeechRateHz; }
  Result<int64_t> write(std::span<const float> samples) override {
    update();
    if (n_written_ == n_played_) since_ms_ = clock_(), n_before_ = n_played_;
    n_written_ += std::ssize(samples);
    return std::ssize(samples);
  }
  Result<void> drain() override { return {}; }
  void stop() override {
    update();
    n_written_ = n_played_;
  }
  int64_t played_frames() const override {
    update();
    return n_played_;
  }

 private:
  void update() const {
    const auto n = static_cast<int64_t>((clock_() - since_ms_) * kSpeechRateHz / 1000);
    n_played_ = std::clamp(n_before_ + n, n_played_, n_written_);
  }

  TalkClock clock_;
  std::string name_ = "silence";
  int64_t n_written_ = 0;
  mutable int64_t n_played_ = 0;
  int64_t n_before_ = 0;  // that were played when the present sound began
  double since_ms_ = 0;   // which was then
};

class InstantSpeaker final : public Speaker {
 public:
  const std::string& name() const override { return name_; }
  int sample_rate_hz() const override { return kSpeechRateHz; }
  Result<int64_t> write(std::span<const float> samples) override {
    n_played_ += std::ssize(samples);
    return std::ssize(samples);
  }
  Result<void> drain() override { return {}; }
  void stop() override {}
  int64_t played_frames() const override { return n_played_; }

 private:
  std::string name_ = "silence";
  int64_t n_played_ = 0;
};

}  // namespace

std::unique_ptr<Speaker> make_silent_speaker(const TalkClock& clock) {
  return std::make_unique<SilentSpeaker>(clock);
}

std::unique_ptr<Speaker> make_instant_speaker() {
  return std::make_unique<InstantSpeaker>();
}

Result<std::unique_ptr<Playback>> Playback::create(std::unique_ptr<Speaker> speaker, OnHeard on_heard) {
  std::unique_ptr<Playback> playback(new Playback(std::move(speaker), std::move(on_heard)));
  if (playback->speaker_->sample_rate_hz() != kSpeechRateHz) {
    PARLANCE_TRY(playback->resampler_,
                 Resampler::create(kSpeechRateHz, playback->speaker_->sample_rate_hz()));
  }
  return playback;
}

void Playback::begin_answer() {
  samples_.clear();
  n_handed_over_ = n_reported_ = 0;
  played_before_ = speaker_->played_frames();
  fades_in_at_ = -1;
  is_hushed_ = false;
}

void Playback::play(std::span<const float> samples) {
  if (!resampler_) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  } else if (auto pushed = resampler_->push(samples, samples_); !pushed) {
    failure_ = pushed.error();
  }
}

int64_t Playback::n_played() const {
  return std::min(speaker_->played_frames() - played_before_, n_handed_over_);
}

int64_t Playback::n_heard() const {
  return n_reported_ * kSpeechRateHz / speaker_->sample_rate_hz();
}

// Drops what the device holds, but for a fade.
void Playback::fall_silent() {
  speaker_->stop();
  const int64_t at = n_played();
  const auto n_fade =
      std::min<int64_t>(static_cast<int64_t>(kFadeSeconds * speaker_->sample_rate_hz()), n_handed_over_ - at);
  std::vector<float> fade(samples_.begin() + at, samples_.begin() + at + n_fade);
  for (int64_t i = 0; i < n_fade; ++i) {
    fade[static_cast<size_t>(i)] *= static_cast<float>(n_fade - i) / static_cast<float>(n_fade + 1);
  }
  if (const auto written = speaker_->write(fade); !written) failure_ = written.error();
  n_handed_over_ = at + n_fade;
}

void Playback::hush() {
  if (std::exchange(is_hushed_, true)) return;
  fall_silent();
}

void Playback::unhush() {
  is_hushed_ = false;
  fades_in_at_ = n_handed_over_;
}

void Playback::stop() {
  if (!is_hushed_) fall_silent();
  is_hushed_ = false;
  samples_.resize(static_cast<size_t>(n_handed_over_));
  (void)tick();
}

Result<void> Playback::hand_over(int64_t n) {
  std::vector<float> piece(samples_.begin() + n_handed_over_, samples_.begin() + n_handed_over_ + n);
  const auto n_fade = static_cast<int64_t>(kFadeSeconds * speaker_->sample_rate_hz());
  for (int64_t i = 0; i < n && fades_in_at_ >= 0; ++i) {
    const int64_t at = n_handed_over_ + i - fades_in_at_;
    if (at >= n_fade) break;
    piece[static_cast<size_t>(i)] *= static_cast<float>(at + 1) / static_cast<float>(n_fade + 1);
  }
  PARLANCE_TRY(const int64_t n_taken, speaker_->write(piece));
  n_handed_over_ += n_taken;
  return {};
}

Result<void> Playback::tick() {
  if (failure_) return tl::unexpected<Error>(*failure_);
  const auto n_ahead = static_cast<int64_t>(kAheadSeconds * speaker_->sample_rate_hz());
  for (;;) {
    const int64_t n_played_now = n_played();
    if (n_played_now > n_reported_) {
      if (on_heard_) {
        PARLANCE_CHECK(on_heard_(std::span(samples_).subspan(
            static_cast<size_t>(n_reported_), static_cast<size_t>(n_played_now - n_reported_))));
      }
      n_reported_ = n_played_now;
    }
    const int64_t n =
        std::min(n_ahead - (n_handed_over_ - n_played_now), std::ssize(samples_) - n_handed_over_);
    if (n <= 0 || is_hushed_) return {};
    const int64_t before = n_handed_over_;
    PARLANCE_CHECK(hand_over(n));
    if (n_handed_over_ == before) return {};  // no room
  }
}

// Until the first sound is heard, half of what the device was given, or the last of it.
std::optional<double> Playback::wait_ms() const {
  constexpr double kLeastMs = 5;  // devices play in periods
  if (failure_) return 0;
  const int64_t n_played_now = n_played(), n_in_device = n_handed_over_ - n_played_now;
  const bool has_more = std::ssize(samples_) > n_handed_over_ && !is_hushed_;
  if (n_played_now > n_reported_) return 0;
  if (n_in_device == 0 && !has_more) return std::nullopt;
  if (n_reported_ == 0) return kLeastMs;
  const double in_device_ms =
      1000 * static_cast<double>(n_in_device) / static_cast<double>(speaker_->sample_rate_hz());
  return std::max(kLeastMs, has_more ? in_device_ms - 1000 * kAheadSeconds / 2 : in_device_ms);
}

}  // namespace parlance
