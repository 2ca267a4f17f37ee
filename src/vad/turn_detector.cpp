#include "vad/turn_detector.h"

#include <algorithm>
#include <numeric>

#include "vad/vad_iterator.h"

namespace parlance {

namespace {

bool is_at_least(int64_t n_samples, double ms) {
  return static_cast<double>(n_samples) >= ms * kSileroSamplesPerMs;
}

}  // namespace

TurnMove next_move(TurnPhase phase, TurnInput input) {
  switch (phase) {
    case TurnPhase::idle:
      if (input == TurnInput::speech) return {TurnPhase::speaking, TurnAction::start};
      return {TurnPhase::idle, TurnAction::none};
    case TurnPhase::speaking:
      switch (input) {
        case TurnInput::speech:
        case TurnInput::unclear:
          return {TurnPhase::speaking, TurnAction::go_on};
        case TurnInput::silence:
          return {TurnPhase::speaking, TurnAction::none};
        case TurnInput::pause_silence:
          return {TurnPhase::paused, TurnAction::pause};
        case TurnInput::closing_silence:
        case TurnInput::flush:
          return {TurnPhase::idle, TurnAction::end};
      }
      break;
    case TurnPhase::paused:
      switch (input) {
        case TurnInput::speech:
          return {TurnPhase::speaking, TurnAction::resume};
        case TurnInput::unclear:
        case TurnInput::silence:
        case TurnInput::pause_silence:
          return {TurnPhase::paused, TurnAction::none};
        case TurnInput::closing_silence:
        case TurnInput::flush:
          return {TurnPhase::idle, TurnAction::end};
      }
      break;
  }
  return {phase, TurnAction::none};
}

TurnDetector::TurnDetector(const TurnOptions& options)
    : options_(options),
      offset_(options.offset.value_or(std::max(0.1, options.onset - kVadHysteresis))),
      end_hangover_ms_(options.end_hangover_ms) {}

bool TurnDetector::is_gate_open(double rms) {
  const bool was_open = n_heard_ <= gate_open_until_;
  const bool is_loud =
      rms >= options_.gate_rms || (was_open && rms >= options_.gate_rms * options_.gate_fall);
  if (is_loud)
    gate_open_until_ = n_heard_ + static_cast<int64_t>(options_.gate_hold_ms * kSileroSamplesPerMs);
  return is_loud || was_open;
}

TurnInput TurnDetector::input_of(double probability, double rms) {
  const bool is_open = is_gate_open(rms);
  std::rotate(levels_.begin(), levels_.begin() + 1, levels_.end());
  levels_.back() = rms;
  if (probability >= options_.onset && (phase_ != TurnPhase::idle || is_open)) {
    silence_since_ = -1;
    last_spoken_[static_cast<size_t>(n_spoken_++) % last_spoken_.size()] = rms;
    sum_spoken_ += rms;
    return TurnInput::speech;
  }
  if (probability >= offset_ || phase_ == TurnPhase::idle) return TurnInput::unclear;
  if (silence_since_ < 0) {
    silence_since_ = window_start_;
    end_hangover_ms_ = options_.end_hangover_ms;
  }
  const double slope = (levels_[2] - levels_[0]) / 2;
  double pause_hangover_ms = options_.pause_hangover_ms;
  if (slope <= options_.falling_rms_slope) {
    pause_hangover_ms =
        std::max(options_.min_hangover_ms, pause_hangover_ms * options_.falling_hangover_factor);
  }
  const int64_t n_silent = n_heard_ - silence_since_;
  if (is_at_least(n_silent, end_hangover_ms_)) return TurnInput::closing_silence;
  return is_at_least(n_silent, pause_hangover_ms) ? TurnInput::pause_silence : TurnInput::silence;
}

std::optional<TurnEvent> TurnDetector::move(TurnInput input) {
  using Kind = TurnEvent::Kind;
  const auto [phase, action] = next_move(phase_, input);
  phase_ = phase;
  const auto event = [&](Kind kind) {
    const int64_t speech_end = silence_since_ >= 0 ? silence_since_ : n_heard_;
    return TurnEvent{kind, first_sample_, speech_start_, speech_end, n_heard_};
  };
  switch (action) {
    case TurnAction::none:
      return std::nullopt;
    case TurnAction::start:
      speech_start_ = window_start_;
      first_sample_ = std::max(n_handed_out_, speech_start_ - options_.pre_roll_windows * kSileroWindow);
      last_report_ = n_heard_;
      return event(Kind::speech_start);
    case TurnAction::go_on:
      if (!is_at_least(n_heard_ - last_report_, options_.heartbeat_ms)) return std::nullopt;
      last_report_ = n_heard_;
      return event(Kind::speech_active);
    case TurnAction::pause:
      return event(Kind::speech_pause);
    case TurnAction::resume:
      last_report_ = n_heard_;
      return event(Kind::speech_resume);
    case TurnAction::end: {
      TurnEvent ended = event(Kind::speech_end);
      if (!is_at_least(ended.speech_end - speech_start_, options_.min_speech_ms)) ended.kind = Kind::blip;
      n_handed_out_ = n_heard_;
      silence_since_ = -1;
      n_spoken_ = 0;
      sum_spoken_ = 0;
      return ended;
    }
  }
  return std::nullopt;
}

void TurnDetector::expect_end(int64_t speech_end, double hangover_ms) {
  if (phase_ == TurnPhase::paused && silence_since_ == speech_end) end_hangover_ms_ = hangover_ms;
}

double TurnDetector::final_level() const {
  if (!(sum_spoken_ > 0)) return 1;
  const auto n = static_cast<size_t>(std::min<int64_t>(n_spoken_, std::ssize(last_spoken_)));
  const double sum =
      std::accumulate(last_spoken_.begin(), last_spoken_.begin() + static_cast<std::ptrdiff_t>(n), 0.0);
  return sum / static_cast<double>(n) / (sum_spoken_ / static_cast<double>(n_spoken_));
}

std::optional<TurnEvent> TurnDetector::next(float probability, float rms, int64_t n_samples) {
  window_start_ = n_heard_;
  n_heard_ += n_samples;
  return move(input_of(static_cast<double>(probability), static_cast<double>(rms)));
}

std::optional<TurnEvent> TurnDetector::flush() {
  const std::optional<TurnEvent> event = move(TurnInput::flush);
  *this = TurnDetector(options_);
  return event;
}

}  // namespace parlance
