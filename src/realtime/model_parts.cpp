#include "realtime/model_parts.h"

#include <algorithm>
#include <chrono>

#include "assistant/speech.h"
#include "vad/speech_detector.h"
#include "voice/synthesizer_mouth.h"

namespace parlance {

namespace {

double steady_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class RecognizerStream final : public EarStream {
 public:
  RecognizerStream(std::shared_ptr<AsrRegion> region, std::unique_ptr<AsrStream> stream)
      : region_(std::move(region)), stream_(std::move(stream)) {}

  Result<void> feed(std::span<const float> samples) override { return stream_->feed(samples); }
  void pause() override { stream_->pause(); }
  Result<Hearing> hearing() override {
    if (auto failure = stream_->failure()) return tl::unexpected(*std::move(failure));
    AsrPartial partial = stream_->partial();
    const bool has_stable = partial.transcript.text.starts_with(partial.stable);
    return Hearing{.text = std::move(partial.transcript.text),
                   .n_stable = has_stable ? partial.stable.size() : 0,
                   .revision = partial.revision,
                   .is_final = partial.is_final};
  }

 private:
  std::shared_ptr<AsrRegion> region_;
  std::unique_ptr<AsrStream> stream_;
};

// The detector counts from 0 whenever it begins anew.
class SileroFinder final : public SpeechFinder {
 public:
  SileroFinder(std::shared_ptr<const SileroModel> model, const TurnOptions& options)
      : detector_(std::move(model), options) {}

  void feed(std::span<const float> samples, OnEvent on_event, OnAudio on_audio) override {
    n_fed_ += std::ssize(samples);
    detector_.feed(
        samples, [&](const TurnEvent& event) { on_event(shifted(event)); },
        [&](std::span<const float> audio, int64_t position) { on_audio(audio, base_ + position); });
  }
  void end(OnEvent on_event, OnAudio on_audio) override {
    detector_.flush(
        [&](const TurnEvent& event) { on_event(shifted(event)); },
        [&](std::span<const float> audio, int64_t position) { on_audio(audio, base_ + position); });
    base_ = n_fed_;
  }
  void forget() override {
    detector_.reset();
    base_ = n_fed_;
  }

 private:
  // The zeros that fill the last window up were not heard.
  TurnEvent shifted(const TurnEvent& event) const {
    const auto at = [&](int64_t sample) { return std::min(base_ + sample, n_fed_); };
    return {.kind = event.kind,
            .first_sample = at(event.first_sample),
            .speech_start = at(event.speech_start),
            .speech_end = at(event.speech_end),
            .n_heard = at(event.n_heard)};
  }

  SpeechDetector detector_;
  int64_t base_ = 0, n_fed_ = 0;
};

// Keeps the models for as long as it speaks.
class OwningMouth final : public Mouth {
 public:
  OwningMouth(std::shared_ptr<TtsRegion> region, const MouthOptions& options, Inbox& inbox, TalkClock clock)
      : region_(std::move(region)), mouth_(*region_->queue, options, inbox, std::move(clock)) {}

  void say(uint64_t reply, int64_t phrase, const std::string& text) override {
    mouth_.say(reply, phrase, text);
  }
  void cancel() override { mouth_.cancel(); }

 private:
  std::shared_ptr<TtsRegion> region_;
  SynthesizerMouth mouth_;
};

MouthOptions mouth_options(const Voice& voice, const MouthTerms& terms) {
  MouthOptions options;
  options.warms_up = false;
  options.manner.quality = SpeechQuality::standard;
  options.manner.language = terms.language;
  options.manner.voice = voice;
  options.manner.speed = static_cast<float>(terms.speed);
  return options;
}

}  // namespace

Result<void> remember_phrases(const std::shared_ptr<TtsRegion>& tts, const std::string& voice) {
  const Narrator narrator(tts);
  PARLANCE_TRY(Voice known, narrator.voice({.name = voice}));
  const MouthOptions options = mouth_options(std::move(known), {.voice = voice, .language = {}});
  for (const bool is_first : {true, false})
    PARLANCE_CHECK(narrator.remember_phrases(voice, phrase_manner(options, is_first)));
  return {};
}

double ModelParts::now_ms() {
  return steady_ms();
}

Result<std::unique_ptr<EarStream>> ModelParts::listen(const AsrRequest& request, OnNews on_news) {
  if (!models_.asr) return fail(ErrorCode::not_found, "there is no recogniser here");
  PARLANCE_TRY(auto stream, models_.asr->recognizer->open(request, std::move(on_news)));
  return std::make_unique<RecognizerStream>(models_.asr, std::move(stream));
}

Result<std::unique_ptr<Mouth>> ModelParts::open_mouth(const MouthTerms& terms, Inbox& inbox) {
  if (!models_.tts) return fail(ErrorCode::not_found, "there is no synthesizer here; ask for text");
  auto known = voices_.find(terms.voice);
  if (known == voices_.end()) {
    PARLANCE_TRY(Voice voice, Narrator(models_.tts).voice({.name = terms.voice}));
    known = voices_.emplace(terms.voice, std::move(voice)).first;
  }
  const MouthOptions options = mouth_options(known->second, terms);
  return std::make_unique<OwningMouth>(models_.tts, options, inbox, [] { return steady_ms(); });
}

std::string ModelParts::filler_text(const std::string& voice) {
  return Narrator(models_.tts).filler_text(voice);
}

Result<std::unique_ptr<SpeechFinder>> ModelParts::find_speech(const TurnOptions& options) {
  if (!models_.vad) return fail(ErrorCode::not_found, "there is no voice detector here");
  return std::make_unique<SileroFinder>(models_.vad->model, options);
}

}  // namespace parlance
