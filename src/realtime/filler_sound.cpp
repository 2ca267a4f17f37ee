#include "realtime/filler_sound.h"

#include <variant>

#include "realtime/sound_coding.h"
#include "text/base64.h"
#include "tts/audio/speech_format.h"

namespace parlance {

// The loudspeaker that the client has.
class FillerSound::Client final : public Loudspeaker {
 public:
  Client(RealtimeParts& parts, EventWriter& events, const SoundForm& form)
      : parts_(parts), events_(events), form_(form) {}

  void begin_answer() override {}
  void play(std::span<const float> samples) override {
    std::string bytes;
    auto encoding = SoundEncoding::create(form_, kSpeechRateHz);
    if (!encoding || !encoding->push(samples, bytes) || !encoding->finish(bytes)) return;
    n_samples_ = std::ssize(samples);
    end_ms_ = parts_.now_ms() + static_cast<double>(n_samples_) * 1000 / kSpeechRateHz;
    events_.send("parlance.filler", {{"audio", to_base64(bytes)}});
  }
  void hush() override {}
  void unhush() override {}
  void stop() override {
    if (!is_drained()) events_.send("parlance.filler.cleared", {});
    end_ms_ = 0;
  }
  Result<void> tick() override { return {}; }
  std::optional<double> wait_ms() const override { return std::nullopt; }
  int64_t n_heard() const override { return is_drained() ? n_samples_ : 0; }
  bool is_drained() const override { return parts_.now_ms() >= end_ms_; }

 private:
  RealtimeParts& parts_;
  EventWriter& events_;
  const SoundForm form_;
  int64_t n_samples_ = 0;
  double end_ms_ = 0;
};

FillerSound::FillerSound(RealtimeParts& parts, EventWriter& events, OnNews on_news)
    : parts_(parts), events_(events), on_news_(std::move(on_news)) {}

FillerSound::~FillerSound() = default;

void FillerSound::drop() {
  if (filler_) filler_->stop();
  filler_.reset();
  client_.reset();
  mouth_.reset();
  inbox_.reset();
  sound_.clear();
}

RealtimeResult<void> FillerSound::follow(const SessionSettings& settings) {
  const FillerMoment moment = settings.speaks ? settings.extensions.filler : FillerMoment::never;
  const bool is_same =
      moment == moment_ && settings.voice == voice_ && settings.speed == speed_ && settings.output == form_;
  if (is_same) return {};
  drop();
  moment_ = moment;
  voice_ = settings.voice;
  speed_ = settings.speed;
  form_ = settings.output;
  if (moment_ == FillerMoment::never) return {};
  inbox_ = std::make_unique<Inbox>(on_news_);
  auto mouth = parts_.open_mouth({.voice = voice_, .language = {}, .speed = speed_}, *inbox_);
  if (!mouth) {
    inbox_.reset();
    return tl::unexpected(internal_error("parlance.filler: nothing can be spoken: " + mouth.error().message));
  }
  mouth_ = *std::move(mouth);
  mouth_->say(0, 0, parts_.filler_text(voice_));
  return {};
}

void FillerSound::advance() {
  if (!inbox_) return;
  bool has_ended = false;
  for (TalkMessage& message : inbox_->take(std::chrono::microseconds(0))) {
    if (const auto* spoken = std::get_if<Spoken>(&message)) {
      sound_.insert(sound_.end(), spoken->samples.begin(), spoken->samples.end());
    } else if (const auto* broken = std::get_if<Broken>(&message)) {
      events_.error(internal_error("parlance.filler: speaking failed: " + broken->error.message), {});
      return drop();
    } else if (std::holds_alternative<SpeechEnd>(message)) {
      has_ended = true;
    }
  }
  if (!has_ended) return;
  mouth_.reset();
  inbox_.reset();
  client_ = std::make_unique<Client>(parts_, events_, form_);
  filler_.emplace(*client_, moment_, std::move(sound_));
}

void FillerSound::on_state(TalkState state) {
  if (filler_) filler_->on_state(state);
}

void FillerSound::stop() {
  if (filler_) filler_->stop();
}

}  // namespace parlance
