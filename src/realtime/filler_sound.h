// A short sound for the time without an answer (voice/filler.h), as sessions tell it to their clients:
// `parlance.filler` has all of it, to be played at once, and `parlance.filler.cleared` ends it before its
// end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "realtime/event_writer.h"
#include "realtime/parts.h"
#include "realtime/settings.h"
#include "voice/filler.h"

namespace parlance {

class FillerSound {
 public:
  FillerSound(RealtimeParts& parts, EventWriter& events, OnNews on_news);
  ~FillerSound();

  // Has what these settings want spoken, in advance. Errors: nothing can be spoken.
  RealtimeResult<void> follow(const SessionSettings& settings);
  // Takes what was spoken; it is there from the next change of state on.
  void advance();
  void on_state(TalkState state);
  // Something of an answer leaves, or there will be none.
  void stop();

 private:
  class Client;

  void drop();

  RealtimeParts& parts_;
  EventWriter& events_;
  const OnNews on_news_;
  FillerMoment moment_ = FillerMoment::never;
  std::string voice_;
  double speed_ = 1;
  SoundForm form_;

  std::unique_ptr<Inbox> inbox_;  // of the mouth, until all is spoken
  std::unique_ptr<Mouth> mouth_;
  std::vector<float> sound_;
  std::unique_ptr<Client> client_;
  std::optional<FillerLoudspeaker> filler_;  // once there is a sound
};

}  // namespace parlance
