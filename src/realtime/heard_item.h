// Something that was said: the sound of one item, and how it becomes text. Its ears work while the person
// speaks, so that little is left to do at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "realtime/parts.h"
#include "realtime/spoken_turn.h"
#include "voice/trace.h"

namespace parlance {

class HeardItem {
 public:
  HeardItem(std::string item_id, RealtimeParts& parts, AsrRequest request, OnNews on_news)
      : item_id_(std::move(item_id)),
        parts_(parts),
        request_(std::move(request)),
        on_news_(std::move(on_news)) {}

  const std::string& item_id() const { return item_id_; }
  const std::vector<float>& samples() const { return samples_; }  // at kMelSampleRateHz

  void feed(std::span<const float> samples);
  // The final text of what was fed until now is wanted; what is fed later waits.
  void pause();
  // It is not: there is more to hear.
  void go_on();
  // There were no ears free for it.
  bool is_kept_waiting() const { return !ears_ && !samples_.empty() && !text_ && !failure_; }

  // Looks for news. True when there is some: a new preview, or what follows.
  bool look();
  const Hearing& hearing() const { return hearing_; }
  // The text, as for good; none as long as it is being made or there is more to hear.
  const std::optional<std::string>& text() const { return text_; }
  const std::optional<Error>& failure() const { return failure_; }
  // Whatever was understood was none.
  void take_no_words() {
    text_ = "";
    failure_.reset();
  }

  // What can be told of the text beyond what was told: only what is stable, so that all that is told together
  // is the text in the end.
  std::string next_stable();
  // What is told in the end: the rest, and all of it. Where the recogniser took back what was stable, the
  // words that were told stay.
  struct Told {
    std::string rest, all;
  };
  Told tell_all();

  SpokenState state = SpokenState::speaking;
  bool is_committed = false;
  bool creates_response = false, is_transcribed = false;  // as the settings were when it began
  TurnTrace trace;
  int n_drafts = 0;
  int64_t first_sample = 0;  // of the session's sound
  double speech_end_ms = 0;  // on the clock

 private:
  void listen();

  const std::string item_id_;
  RealtimeParts& parts_;
  const AsrRequest request_;
  const OnNews on_news_;

  std::vector<float> samples_;
  std::unique_ptr<EarStream> ears_;
  size_t n_fed_ = 0;  // of samples_, to the ears; what came in a pause waits
  bool is_paused_ = false, awaits_text_ = false;
  Hearing hearing_;
  std::optional<std::string> text_;
  std::optional<Error> failure_;
  std::string told_;
};

}  // namespace parlance
