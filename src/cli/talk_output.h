// Where the answers of a conversation by voice go: a device that plays them, in time or at once, and a file
// that gets what was played.
#pragma once

#include <memory>

#include "cli/say_output.h"
#include "cli/talk_options.h"
#include "voice/playback.h"

namespace parlance {

class AnswerOutput {
 public:
  // An error when a file cannot be written, or a speaker that was named not be opened.
  static Result<AnswerOutput> open(const Console& io, const TalkChoice& choice, const TalkClock& clock);

  Playback& playback() { return *playback_; }
  // What a loudspeaker plays; null where there is none.
  Speaker* loudspeaker() { return is_loud_ ? &playback_->speaker() : nullptr; }
  // The next answer is apart from this one, in a file.
  void end_answer() { *needs_gap_ = true; }
  Result<void> finish();

 private:
  std::unique_ptr<SpeechOutput> file_;
  std::shared_ptr<bool> needs_gap_ = std::make_shared<bool>(false);
  bool is_loud_ = false;
  std::unique_ptr<Playback> playback_;
};

}  // namespace parlance
