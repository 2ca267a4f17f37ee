#include "server/spoken_answer.h"

#include <chrono>
#include <utility>

#include "text/unicode.h"
#include "tts/speech_plan.h"

namespace parlance {

namespace {

using SpokenClock = std::chrono::steady_clock;

constexpr int64_t kPhrasesAhead = 2;

MouthOptions mouth_options(Voice voice) {
  MouthOptions options;
  options.warms_up = false;
  options.manner.quality = SpeechQuality::standard;
  options.manner.voice = std::move(voice);
  return options;
}

}  // namespace

Result<std::unique_ptr<SpokenAnswer>> SpokenAnswer::open(std::shared_ptr<TtsRegion> region,
                                                         const SpokenTerms& terms,
                                                         std::function<void()> on_news) {
  PARLANCE_TRY(Voice voice, Narrator(region).voice({.name = terms.voice}));
  PARLANCE_TRY(SoundEncoder encoder, SoundEncoder::open(terms.format, kSpeechRateHz));
  return std::unique_ptr<SpokenAnswer>(new SpokenAnswer(std::move(region), mouth_options(std::move(voice)),
                                                        std::move(encoder), std::move(on_news)));
}

// Who speaks may look at the clock when the answer has gone.
SpokenAnswer::SpokenAnswer(std::shared_ptr<TtsRegion> region, const MouthOptions& options,
                           SoundEncoder encoder, std::function<void()> on_news)
    : region_(std::move(region)),
      clock_([began = SpokenClock::now()] {
        return std::chrono::duration<double, std::milli>(SpokenClock::now() - began).count();
      }),
      inbox_(std::move(on_news)),
      mouth_(*region_->queue, options, inbox_, clock_),
      encoder_(std::move(encoder)) {}

SpokenAnswer::~SpokenAnswer() = default;

void SpokenAnswer::say(const Phrase& phrase) {
  if (can_be_said(phrase.text)) waiting_.push_back(phrase.text);
  say_what_waits();
}

void SpokenAnswer::say_what_waits() {
  while (!waiting_.empty() && n_asked_ - n_said_ < kPhrasesAhead) {
    mouth_.say(/*reply=*/0, n_asked_++, waiting_.front());
    waiting_.pop_front();
  }
}

void SpokenAnswer::add(std::string_view words) {
  if (has_words_ended_) return;
  if (!words.empty()) {
    for (const Phrase& phrase : chunker_.push(words, clock_())) say(phrase);
  }
  if (const auto late = chunker_.flush_if_late(clock_())) say(*late);
}

void SpokenAnswer::finish() {
  if (std::exchange(has_words_ended_, true)) return;
  if (const auto last = chunker_.finish()) say(*last);
}

void SpokenAnswer::cancel() {
  mouth_.cancel();
  has_words_ended_ = has_ended_ = true;
}

Result<std::string> SpokenAnswer::take() {
  std::string bytes;
  if (has_ended_) return bytes;
  for (TalkMessage& message : inbox_.take(std::chrono::microseconds(0))) {
    if (const auto* spoken = std::get_if<Spoken>(&message)) {
      n_samples_ += std::ssize(spoken->samples);
      PARLANCE_TRY(const std::string more, encoder_.push(spoken->samples));
      bytes += more;
    } else if (std::holds_alternative<SpeechEnd>(message)) {
      ++n_said_;
    } else if (auto* broken = std::get_if<Broken>(&message)) {
      cancel();
      return tl::unexpected(std::move(broken->error));
    }
  }
  say_what_waits();
  if (!has_words_ended_ || n_said_ < n_asked_) return bytes;
  has_ended_ = true;
  if (n_samples_ == 0) return bytes;
  PARLANCE_TRY(const std::string rest, encoder_.finish());
  return bytes + rest;
}

}  // namespace parlance
