// A short sound that is there at once, while an answer is not: "one second". It stands in front of a
// loudspeaker, whose owner does not know of it: as soon as the answer sounds, or the turn changes, it is
// gone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "voice/parts.h"
#include "voice/turn_machine.h"

namespace parlance {

enum class FillerMoment : uint8_t {
  never,
  speech_start,  // when somebody begins to speak while nobody does
  turn_end,      // when a turn has ended, and no sound of its answer is there
};
std::string_view name_of(FillerMoment moment);
std::optional<FillerMoment> filler_moment_from_name(std::string_view name);

class FillerLoudspeaker final : public Loudspeaker {
 public:
  // The sound is at kSpeechRateHz; without one, and for `never`, all of this is the loudspeaker behind.
  FillerLoudspeaker(Loudspeaker& behind, FillerMoment moment, std::vector<float> sound)
      : behind_(behind), moment_(moment), sound_(std::move(sound)) {}

  // As the owner of the conversation tells its observers. It sounds with the next tick().
  void on_state(TalkState state);
  bool is_filling() const { return is_filling_; }

  void begin_answer() override;
  void play(std::span<const float> samples) override;
  void hush() override;
  void unhush() override;
  void stop() override;
  Result<void> tick() override;
  std::optional<double> wait_ms() const override { return behind_.wait_ms(); }
  int64_t n_heard() const override { return is_filling_ ? 0 : behind_.n_heard(); }
  bool is_drained() const override { return is_filling_ || behind_.is_drained(); }

 private:
  bool is_due(TalkState before, TalkState state) const;
  bool is_over(TalkState state) const;
  void fill();
  void drop();

  Loudspeaker& behind_;
  const FillerMoment moment_;
  const std::vector<float> sound_;
  TalkState state_ = TalkState::idle;
  bool is_filling_ = false;
  bool has_sound_ = false;  // the answer
};

}  // namespace parlance
