#include "cli/talk_output.h"

#include <utility>
#include <vector>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr int64_t kPauseMs = 400;  // between answers in a file
constexpr double kBufferSeconds = 2;
constexpr double kPlayedSeconds = 60;  // of what was played, for a microphone that is as late

// The one that was asked for, or that people at a terminal expect; null when answers are not to be heard.
Result<std::unique_ptr<Speaker>> open_device(const Console& io, const TalkChoice& choice) {
  const bool is_expected = io.out_is_terminal || choice.hears_microphone();
  if (!choice.output.empty() || choice.is_silent || (choice.speaker.empty() && !is_expected)) return nullptr;
  auto speaker = open_speaker({.device = choice.speaker,
                               .buffer_seconds = kBufferSeconds,
                               .played_seconds = choice.hears_microphone() ? kPlayedSeconds : 0});
  if (speaker || !choice.speaker.empty()) return speaker;
  io.note(fmt::format("answers are not played: {}; -o FILE writes them", speaker.error().message));
  return nullptr;
}

}  // namespace

Result<AnswerOutput> AnswerOutput::open(const Console& io, const TalkChoice& choice, const TalkClock& clock) {
  AnswerOutput output;
  if (!choice.output.empty()) {
    PARLANCE_TRY(output.file_, open_wav_output(io, choice.output, choice.encoding));
  }
  PARLANCE_TRY(auto speaker, open_device(io, choice));
  output.is_loud_ = speaker != nullptr;
  if (!speaker) {
    // Somebody who may interrupt an answer hears it at its own pace.
    const bool takes_time = !choice.is_fast && (choice.wants_barge_in || choice.hears_microphone());
    speaker = takes_time ? make_silent_speaker(clock) : make_instant_speaker();
  }
  const auto on_heard = [file = output.file_.get(),
                         needs_gap = output.needs_gap_](std::span<const float> samples) -> Result<void> {
    if (!file) return {};
    if (std::exchange(*needs_gap, false)) {
      PARLANCE_CHECK(file->write(std::vector<float>(speech_samples(kPauseMs))));
    }
    return file->write(samples);
  };
  PARLANCE_TRY(output.playback_, Playback::create(std::move(speaker), on_heard));
  return output;
}

Result<void> AnswerOutput::finish() {
  if (!file_) return {};
  return file_->finish();
}

}  // namespace parlance
