#include "voice/playback_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr double kSamplesPerMs = kSpeechRateHz / 1000.0;
constexpr double kReportsLostMs = 1000;

int64_t samples_of_ms(double ms) {
  return static_cast<int64_t>(std::floor(ms * kSamplesPerMs));
}

}  // namespace

void PlaybackClock::begin_answer() {
  samples_.clear();
  n_sent_ = n_known_ = 0;
  since_ms_.reset();
  is_hushed_ = has_reports_ = false;
}

void PlaybackClock::play(std::span<const float> samples) {
  samples_.insert(samples_.end(), samples.begin(), samples.end());
}

int64_t PlaybackClock::n_heard() const {
  if (!since_ms_) return n_known_;
  const double silent_ms = has_reports_ ? kReportsLostMs : 0;  // for which only reports count
  const int64_t n_since = samples_of_ms(std::max(0.0, clock_() - *since_ms_ - silent_ms));
  return std::min(n_sent_, n_known_ + n_since);
}

void PlaybackClock::take_report(double played_ms) {
  const double n_sent = static_cast<double>(n_sent_);
  const double n_played = std::clamp(played_ms * kSamplesPerMs, 0.0, n_sent);
  const bool is_all = n_sent - n_played < kSamplesPerMs;  // it counts whole milliseconds
  const int64_t n_before = std::exchange(has_reports_, true) ? n_known_ : 0;
  n_known_ = is_all ? n_sent_ : std::max(n_before, static_cast<int64_t>(n_played));
  if (since_ms_) since_ms_ = clock_();
}

void PlaybackClock::hush() {
  if (is_hushed_) return;
  n_known_ = n_heard();
  since_ms_.reset();
  is_hushed_ = true;
}

void PlaybackClock::unhush() {
  if (is_hushed_ && n_sent_ > 0) since_ms_ = clock_();
  is_hushed_ = false;
}

void PlaybackClock::stop() {
  n_known_ = n_sent_ = n_heard();
  samples_.resize(static_cast<size_t>(n_sent_));
  since_ms_.reset();
  is_hushed_ = false;
}

// Of the next piece.
int64_t PlaybackClock::n_next() const {
  const bool is_first = n_sent_ < samples_of_ms(pace_.first_ms);
  const double most_ms = std::min(is_first ? pace_.first_piece_ms : pace_.piece_ms, pace_.ahead_ms);
  return std::min(samples_of_ms(most_ms), std::ssize(samples_) - n_sent_);
}

// How much must be heard before it is sent: 0 or less when it may leave now.
int64_t PlaybackClock::n_until_next() const {
  return n_sent_ + n_next() - n_heard() - samples_of_ms(pace_.ahead_ms);
}

// Sound that comes when all before it has been heard is heard from then on.
Result<void> PlaybackClock::tick() {
  while (!is_hushed_ && !is_sent() && n_until_next() <= 0) {
    if (n_heard() == n_sent_) {
      n_known_ = n_sent_;
      since_ms_ = clock_();
    }
    const int64_t n = n_next();
    PARLANCE_CHECK(
        on_send_(std::span(samples_).subspan(static_cast<size_t>(n_sent_), static_cast<size_t>(n))));
    n_sent_ += n;
  }
  return {};
}

std::optional<double> PlaybackClock::wait_ms() const {
  if (is_hushed_ || is_drained()) return std::nullopt;
  const int64_t n_awaited = is_sent() ? n_sent_ - n_heard() : n_until_next();
  if (n_awaited <= 0) return 0;
  double wait = std::ceil(static_cast<double>(n_awaited) / kSamplesPerMs);
  if (has_reports_) wait += std::max(0.0, *since_ms_ + kReportsLostMs - clock_());
  return wait;
}

}  // namespace parlance
