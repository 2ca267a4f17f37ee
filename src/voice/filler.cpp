#include "voice/filler.h"

#include <algorithm>
#include <array>
#include <utility>

namespace parlance {

namespace {

constexpr std::array kMoments = {FillerMoment::never, FillerMoment::speech_start, FillerMoment::turn_end};

// Nobody has heard anything of the answer yet, and the person has finished.
bool awaits_answer(TalkState state) {
  return state == TalkState::closing || state == TalkState::answering;
}

}  // namespace

std::string_view name_of(FillerMoment moment) {
  switch (moment) {
    case FillerMoment::never:
      return "never";
    case FillerMoment::speech_start:
      return "speech-start";
    case FillerMoment::turn_end:
      return "turn-end";
  }
  return "";
}

std::optional<FillerMoment> filler_moment_from_name(std::string_view name) {
  const auto found = std::ranges::find(kMoments, name, [](FillerMoment one) { return name_of(one); });
  return found == kMoments.end() ? std::nullopt : std::optional(*found);
}

bool FillerLoudspeaker::is_due(TalkState before, TalkState state) const {
  if (moment_ == FillerMoment::speech_start) return before == TalkState::idle && state == TalkState::hearing;
  return moment_ == FillerMoment::turn_end && !awaits_answer(before) && awaits_answer(state) && !has_sound_;
}

bool FillerLoudspeaker::is_over(TalkState state) const {
  if (moment_ == FillerMoment::speech_start) return state == TalkState::idle;
  return !awaits_answer(state);
}

void FillerLoudspeaker::on_state(TalkState state) {
  const TalkState before = std::exchange(state_, state);
  if (is_filling_ && is_over(state)) drop();
  if (is_due(before, state)) fill();
}

void FillerLoudspeaker::fill() {
  if (sound_.empty()) return;
  behind_.stop();
  behind_.begin_answer();
  behind_.play(sound_);
  is_filling_ = true;
}

void FillerLoudspeaker::drop() {
  if (!std::exchange(is_filling_, false)) return;
  behind_.stop();
  behind_.begin_answer();
}

void FillerLoudspeaker::begin_answer() {
  has_sound_ = false;
  if (!is_filling_) behind_.begin_answer();
}

void FillerLoudspeaker::play(std::span<const float> samples) {
  if (samples.empty()) return;
  drop();
  has_sound_ = true;
  behind_.play(samples);
}

void FillerLoudspeaker::hush() {
  drop();
  behind_.hush();
}

void FillerLoudspeaker::unhush() {
  behind_.unhush();
}

void FillerLoudspeaker::stop() {
  is_filling_ = has_sound_ = false;
  behind_.stop();
}

Result<void> FillerLoudspeaker::tick() {
  PARLANCE_CHECK(behind_.tick());
  if (is_filling_ && behind_.is_drained()) drop();
  return {};
}

}  // namespace parlance
