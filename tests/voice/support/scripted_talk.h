// A conversation on a virtual clock, millisecond by millisecond: the real owner, state machine, turn detector
// and chunker, between ears, a mind, a mouth and a loudspeaker that follow a script. Late messages of work
// that was cancelled still come, as they do from threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vad/turn_detector.h"
#include "voice/filler.h"
#include "voice/talk.h"

namespace parlance::test {

inline constexpr int kWindowMs = 32;
inline constexpr int kSamplesPerMs = 24;

// From and to which millisecond somebody makes a sound.
struct Utterance {
  int from_ms, to_ms;
};

// How long everything takes.
struct Pace {
  double asr_ms = 40;
  double first_token_ms = 20, token_ms = 5;
  double first_audio_ms = 90;  // of a phrase
  double audio_rate = 3;       // seconds of sound that are made in one
  int phrase_ms = 600;         // of sound
  double late_ms = 15;         // for how long cancelled work goes on to send messages
};

struct Script {
  std::vector<Utterance> utterances;
  std::vector<std::string> answer = {"Well", ",",   " that", " was",  " said", ".",
                                     " It",  " is", " fine", " with", " me",   "."};
  Pace pace = {};
  TalkOptions options = {};
  bool hears_words = true;
  int understood = 1000;  // transcripts; those after are without words
  int stop_at_ms = -1;
  FillerMoment filler = FillerMoment::never;
  int filler_ms = 0;
  // How likely a turn ends with these words, as the mind finds after a while; none: it cannot say.
  std::function<std::optional<double>(const std::string& words)> probability = {};
  double judges_ms = 5;
};
inline constexpr float kFillerSample = -1;

class ScriptedTalk : public TalkObserver, Ears, Mind, Mouth, Loudspeaker, Attention {
 public:
  explicit ScriptedTalk(Script script)
      : script_(std::move(script)),
        detector_({.end_hangover_ms = script_.options.turn_end ? script_.options.turn_end->most_ms : 350}),
        filler_(*this, script_.filler,
                std::vector<float>(static_cast<size_t>(script_.filler_ms * kSamplesPerMs), kFillerSample)),
        talk_({*this, *this, *this, filler_, this}, *this, script_.options) {}

  // Until everything is said, or for so long.
  void run(int most_ms = 20000) {
    for (now_ = 0; now_ < most_ms && !talk_.is_over(); ++now_) {
      if (static_cast<int>(now_) % kWindowMs == 0) listen();
      std::vector<TalkMessage> due;
      while (!later_.empty() && later_.begin()->first <= now_) {
        due.push_back(std::move(later_.begin()->second));
        later_.erase(later_.begin());
      }
      for (TalkMessage& message : due) take(std::move(message));
      hear();
      // As its owner calls it: behind messages, and when it wants to be.
      if (std::exchange(has_taken_, false) || now_ >= next_tick_) {
        ASSERT_TRUE(talk_.tick(now_));
        hear();
        next_tick_ = now_ + talk_.wait_ms(now_).value_or(INFINITY);
      }
      if (script_.stop_at_ms == static_cast<int>(now_)) talk_.stop();
      if (!is_hushed_) play_a_millisecond();
    }
  }

  // What happened.
  struct Exchange {
    uint64_t reply;
    std::string question, answer;
  };
  std::vector<TurnReport> reports;
  std::vector<Exchange> memory;                // of the mind
  std::vector<std::pair<int, float>> audible;  // millisecond, and the number of the reply that sounded
  std::vector<TalkState> states;
  int n_asked = 0;
  TalkState state() const { return talk_.state(); }

  // The windows of an utterance, as the ears name them.
  static std::string words_of(const Utterance& utterance) {
    std::string words;
    for (int window = 0; window * kWindowMs < utterance.to_ms; ++window) {
      if (is_speech(utterance, window)) words += "w" + std::to_string(window) + " ";
    }
    return words;
  }

 private:
  static bool is_speech(const Utterance& utterance, int window) {
    const int middle = window * kWindowMs + kWindowMs / 2;
    return middle >= utterance.from_ms && middle < utterance.to_ms;
  }

  // The window that ends now.
  void listen() {
    const int window = static_cast<int>(now_) / kWindowMs - 1;
    if (window < 0) return;
    const int last_ms = script_.utterances.empty() ? 0 : script_.utterances.back().to_ms;
    bool speech = false;
    for (const Utterance& utterance : script_.utterances) speech = speech || is_speech(utterance, window);
    const bool was_idle = detector_.phase() == TurnPhase::idle;
    const auto event = detector_.next(speech ? 0.9f : 0.02f, speech ? 0.03f : 0.001f);
    const TalkMessage sound = HeardSound{{speech ? static_cast<float>(window) + 1 : 0.0f}};
    const auto tell = [&] {
      if (!event) return;
      take(HeardTurn{*event, now_, static_cast<double>(event->speech_start) / 16,
                     static_cast<double>(event->speech_end) / 16});
    };
    if (was_idle) tell();
    if (!was_idle || event) {
      take(sound);
    }
    if (!was_idle) tell();
    if (now_ > last_ms + 1400 && !is_over_) {
      is_over_ = true;
      take(SourceOver{});
    }
  }

  // Ears.
  Result<void> begin() override {
    heard_.clear();
    final_at_ = -1;
    ++n_transcripts_;
    has_heard_ = true;
    return {};
  }
  Result<void> feed(std::span<const float> samples) override {
    for (const float sample : samples) {
      if (sample > 0) heard_ += "w" + std::to_string(static_cast<int>(sample) - 1) + " ";
    }
    ++revision_;
    final_at_ = -1;
    has_heard_ = true;
    return {};
  }
  void pause() override {
    if (final_at_ < 0) final_at_ = now_ + script_.pace.asr_ms;
    has_heard_ = true;
  }
  bool is_final() const { return final_at_ >= 0 && now_ >= final_at_; }
  Hearing hearing() const {
    return Hearing{.text = script_.hears_words && n_transcripts_ <= script_.understood ? heard_ : "",
                   .n_stable = 0,
                   .revision = revision_,
                   .is_final = is_final()};
  }
  // News of the ears, as often as what was told of them makes some.
  void hear() {
    while (has_heard_ || is_final() != was_final_) {
      has_heard_ = false;
      was_final_ = is_final();
      take(HeardWords{hearing(), now_});
    }
  }

  void take(TalkMessage message) {
    has_taken_ = true;
    ASSERT_TRUE(talk_.take(std::move(message)));
  }

  // Mind.
  void ask(uint64_t reply, const std::string& question) override {
    ++n_asked;
    std::string answer;
    for (const std::string& piece : script_.answer) answer += piece;
    memory.push_back({reply, question, answer});
    double at = now_ + script_.pace.first_token_ms;
    for (const std::string& piece : script_.answer) {
      later_.emplace(at, Thought{reply, piece, at});
      at += script_.pace.token_ms;
    }
    later_.emplace(at, ThoughtEnd{reply, at});
  }
  bool judge(uint64_t pause, const std::string& words) override {
    const auto probability = script_.probability ? script_.probability(words) : std::nullopt;
    if (!probability) return false;
    const double at = now_ + script_.judges_ms;
    later_.emplace(at, TurnJudged{pause, *probability, at});
    return true;
  }
  void expect_end(int64_t speech_end, double silence_ms) override {
    detector_.expect_end(speech_end, silence_ms);
  }
  void drop(uint64_t reply) override {
    std::erase_if(memory, [&](const Exchange& exchange) { return exchange.reply == reply; });
    cancel_thoughts(reply);
  }
  void cut(uint64_t reply, const std::string& heard) override {
    for (Exchange& exchange : memory) {
      if (exchange.reply == reply) exchange.answer = heard;
    }
    cancel_thoughts(reply);
  }
  void cancel_thoughts(uint64_t reply) {
    std::erase_if(later_, [&](const auto& item) {
      const auto* thought = std::get_if<Thought>(&item.second);
      const auto* end = std::get_if<ThoughtEnd>(&item.second);
      const bool is_its = (thought && thought->reply == reply) || (end && end->reply == reply);
      return is_its && item.first > now_ + script_.pace.late_ms;
    });
  }

  // Mouth: one phrase after the other.
  void say(uint64_t reply, int64_t phrase, const std::string&) override {
    const double start = std::max(now_, mouth_free_at_);
    later_.emplace(start, SpeechBegun{reply, phrase, start});
    double at = start + script_.pace.first_audio_ms;
    for (int ms = 0; ms < script_.pace.phrase_ms; ms += 40) {
      later_.emplace(
          at,
          Spoken{reply, phrase,
                 std::vector<float>(static_cast<size_t>(40 * kSamplesPerMs), static_cast<float>(reply)), at});
      at += 40 / script_.pace.audio_rate;
    }
    later_.emplace(at, SpeechEnd{reply, phrase, at});
    mouth_free_at_ = at;
  }
  void cancel() override {
    std::erase_if(later_, [&](const auto& item) {
      const bool is_speech = std::holds_alternative<SpeechBegun>(item.second) ||
                             std::holds_alternative<Spoken>(item.second) ||
                             std::holds_alternative<SpeechEnd>(item.second);
      return is_speech && item.first > now_ + script_.pace.late_ms;
    });
    mouth_free_at_ = now_ + script_.pace.late_ms;
  }

  // Loudspeaker.
  void begin_answer() override {
    EXPECT_TRUE(is_drained()) << "an answer begins before the one before has ended";
    queue_.clear();
    n_heard_ = 0;
    is_hushed_ = false;
  }
  void play(std::span<const float> samples) override {
    queue_.insert(queue_.end(), samples.begin(), samples.end());
  }
  void hush() override { is_hushed_ = true; }
  void unhush() override { is_hushed_ = false; }
  void stop() override { queue_.resize(static_cast<size_t>(n_heard_)); }
  Result<void> tick() override { return {}; }
  std::optional<double> wait_ms() const override {
    if (is_drained() || is_hushed_) return std::nullopt;
    if (n_heard_ == 0) return 1;
    return static_cast<double>(std::ssize(queue_) - n_heard_) / kSamplesPerMs;
  }
  int64_t n_heard() const override { return n_heard_; }
  bool is_drained() const override { return n_heard_ >= std::ssize(queue_); }

  void play_a_millisecond() {
    const int64_t n = std::min<int64_t>(std::ssize(queue_) - n_heard_, kSamplesPerMs);
    if (n <= 0) return;
    audible.emplace_back(static_cast<int>(now_), queue_[static_cast<size_t>(n_heard_)]);
    n_heard_ += n;
  }

  // Observer.
  void on_state(TalkState state) override {
    states.push_back(state);
    filler_.on_state(state);
  }
  void on_turn(const TurnReport& report) override { reports.push_back(report); }

  Script script_;
  TurnDetector detector_;
  FillerLoudspeaker filler_;
  Talk talk_;
  double now_ = 0, next_tick_ = 0;
  bool has_taken_ = false;
  bool is_over_ = false;
  std::multimap<double, TalkMessage> later_;

  std::string heard_;
  int n_transcripts_ = 0;
  uint64_t revision_ = 0;
  double final_at_ = -1;
  bool has_heard_ = false, was_final_ = false;
  double mouth_free_at_ = 0;
  std::vector<float> queue_;
  int64_t n_heard_ = 0;
  bool is_hushed_ = false;
};

}  // namespace parlance::test
