// The loudspeaker of a conversation: keeps what is to be heard, hands a little of it to the device at a time,
// and knows how far the device is, so that an answer can stop at once, go on, and be cut where it was heard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "audio/resampler.h"
#include "audio_devices/speaker.h"
#include "voice/parts.h"

namespace parlance {

class Playback final : public Loudspeaker {
 public:
  // Told what was played, in order, at kSpeechRateHz or the speaker's rate.
  using OnHeard = std::function<Result<void>(std::span<const float> samples)>;

  static Result<std::unique_ptr<Playback>> create(std::unique_ptr<Speaker> speaker, OnHeard on_heard = {});

  Speaker& speaker() { return *speaker_; }
  const Speaker& speaker() const { return *speaker_; }

  void begin_answer() override;
  void play(std::span<const float> samples) override;
  void hush() override;
  void unhush() override;
  void stop() override;
  Result<void> tick() override;
  std::optional<double> wait_ms() const override;
  int64_t n_heard() const override;
  bool is_drained() const override { return n_reported_ >= std::ssize(samples_); }

 private:
  Playback(std::unique_ptr<Speaker> speaker, OnHeard on_heard)
      : speaker_(std::move(speaker)), on_heard_(std::move(on_heard)) {}
  int64_t n_played() const;
  Result<void> hand_over(int64_t n);
  void fall_silent();

  std::unique_ptr<Speaker> speaker_;
  OnHeard on_heard_;
  std::optional<Resampler> resampler_;  // where the speaker's rate is not that of speech

  std::vector<float> samples_;  // of the answer, at the speaker's rate
  int64_t n_handed_over_ = 0;   // of these, to the device
  int64_t n_reported_ = 0;      // of these, known to have been played
  int64_t played_before_ = 0;   // frames of the device, before the answer
  int64_t fades_in_at_ = -1;    // where sound comes out of silence; -1: nowhere
  bool is_hushed_ = false;
  std::optional<Error> failure_;
};

// A speaker without sound that plays as fast as one with sound would, or at once.
std::unique_ptr<Speaker> make_silent_speaker(const TalkClock& clock);
std::unique_ptr<Speaker> make_instant_speaker();

}  // namespace parlance
