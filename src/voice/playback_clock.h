// The loudspeaker of a conversation with somebody far away: sound is sent to a client that plays it, and a
// clock says how much of it has been heard by now, or the client does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "voice/parts.h"

namespace parlance {

struct PlaybackPace {
  double ahead_ms = 30000;  // of sound that may be sent before it is heard
  // Pieces are short as long as the client waits for the first of them, and then longer.
  double first_piece_ms = 100, first_ms = 500, piece_ms = 400;
};

class PlaybackClock final : public Loudspeaker {
 public:
  // Is handed the next samples of the answer, at kSpeechRateHz, which leave now.
  using OnSend = std::function<Result<void>(std::span<const float> samples)>;

  PlaybackClock(TalkClock clock, OnSend on_send, const PlaybackPace& pace = {})
      : clock_(std::move(clock)), on_send_(std::move(on_send)), pace_(pace) {}

  // Nothing of what was sent before is heard any more.
  void begin_answer() override;
  void play(std::span<const float> samples) override;
  // Nothing more is sent, and the clock stands still: a client that is told falls silent and keeps the rest.
  void hush() override;
  void unhush() override;
  // What was sent and not heard by now never is: a client that is told drops it.
  void stop() override;
  Result<void> tick() override;
  std::optional<double> wait_ms() const override;
  // min(sent, time since the first of it was sent and it was not silent since), or what the client reports.
  int64_t n_heard() const override;
  bool is_drained() const override { return n_heard() >= std::ssize(samples_); }

  // The client has played so much of the answer. From now on this counts, and time only when no report comes
  // for a second.
  void take_report(double played_ms);

  int64_t n_sent() const { return n_sent_; }
  // All that was given has been sent.
  bool is_sent() const { return n_sent_ >= std::ssize(samples_); }

 private:
  int64_t n_next() const;
  int64_t n_until_next() const;

  const TalkClock clock_;
  const OnSend on_send_;
  const PlaybackPace pace_;

  std::vector<float> samples_;  // of the answer
  int64_t n_sent_ = 0;
  // The clock: n_known_ samples had been heard at since_ms_, and time goes on from there. It does not run
  // before anything is sent, while hushed, and after the end.
  int64_t n_known_ = 0;
  std::optional<double> since_ms_;
  bool is_hushed_ = false;
  bool has_reports_ = false;
};

}  // namespace parlance
