// A conversation by voice: the one owner of its state. It takes messages of the parts, asks the state machine
// (turn_machine.h) what they mean, and tells the parts what to do. Everything here happens on the thread that
// calls take() and tick(), and none of it waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "voice/inbox.h"
#include "voice/parts.h"
#include "voice/phrase_chunker.h"
#include "voice/trace.h"
#include "voice/turn_end.h"
#include "voice/turn_machine.h"

namespace parlance {

struct TalkOptions {
  // At a pause the answer is made in advance, up to the sound of its first phrase. When the person goes on,
  // it was for nothing; when not, it is there as soon as the turn has ended.
  bool drafts_answers = true;
  // Speech into an answer ends it when there are words in it, or when it lasts for so long.
  double barge_in_ms = 600;
  PhraseOptions phrases = {};
  // How long the silence is that ends a turn, by what was said; none: as the voice detector has it.
  std::optional<TurnEndOptions> turn_end = std::nullopt;
};

// A turn that was answered.
struct TurnReport {
  int64_t number = 0;  // from 1
  std::string question, answer;
  std::string heard;  // as much of the answer as was played, in whole words
  bool is_interrupted = false;
  // What its end was judged by, and the silence that was waited for; none where that does not depend on it.
  std::optional<TurnEndSigns> end_signs = std::nullopt;
  double end_silence_ms = 0;
  int n_drafts = 0;       // answers that were begun for it, the last one of which counted
  int64_t n_samples = 0;  // of the answer, at kSpeechRateHz, that were played
  TurnTrace trace;
  DraftCounts draft = {};  // of the answer
};

// Is told what people would like to see. Nothing is taken back: questions and answers come when they are part
// of the conversation for good.
class TalkObserver {
 public:
  virtual ~TalkObserver() = default;

  virtual void on_state(TalkState) {}
  virtual void on_hearing(const Hearing&) {}
  virtual void on_question(std::string_view) {}
  virtual void on_answer(std::string_view) {}  // the next piece
  virtual void on_turn(const TurnReport&) {}
};

struct TalkParts {
  Ears& ears;
  Mind& mind;
  Mouth& mouth;
  Loudspeaker& loudspeaker;
  Attention* attention = nullptr;  // null: nobody can be told when turns end
};

class Talk {
 public:
  Talk(const TalkParts& parts, TalkObserver& observer, const TalkOptions& options = {})
      : parts_(parts), observer_(observer), options_(options) {}

  // Something happened. An error of a part ends the conversation.
  Result<void> take(TalkMessage message);
  // Does what time brings: goes on playing, and speaks what comes too slowly. To be called after messages,
  // and again after wait_ms(), if there is such a time.
  Result<void> tick(double now_ms);
  std::optional<double> wait_ms(double now_ms) const;

  // Ends what is going on, at once.
  void stop();

  TalkState state() const { return state_; }
  bool is_quiet() const { return state_ == TalkState::idle; }
  bool is_over() const { return is_source_over_ && is_quiet(); }

 private:
  // What is being said, or is to be.
  struct Reply {
    uint64_t id = 0;
    TurnReport report;
    PhraseChunker chunker;
    std::vector<std::string> phrases;
    int64_t n_told = 0;  // phrases that the mouth was told to say
    int64_t n_said = 0;  // and has said
    bool is_released = false, is_written = false, is_committed = false;
    std::vector<float> withheld;  // sound that may not be heard yet
    int64_t n_samples = 0;        // of all its sound
  };

  Result<void> dispatch(TalkEvent event);
  Result<void> act(TalkAction action);
  Result<void> take_turn_event(const HeardTurn& heard);
  Result<void> take_hearing(const Hearing& hearing);
  void judge_end();
  void expect_end();
  void start_reply();
  void end_reply(bool is_interrupted);
  void tell_mouth();
  void add_phrase(Phrase phrase);
  void take_thought(std::string_view text);
  void take_sound(const Spoken& spoken);
  Reply* reply_of(uint64_t id) { return reply_ && reply_->id == id ? &*reply_ : nullptr; }
  bool is_said() const;
  std::string heard_words() const;

  TalkParts parts_;
  TalkObserver& observer_;
  TalkOptions options_;

  TalkState state_ = TalkState::idle;
  double now_ms_ = 0;
  double onset_ms_ = 0;  // when the sound began that the last event of the voice detector is about
  bool is_source_over_ = false;

  // The turn that is being heard.
  bool is_open_ = false;
  TurnTrace turn_;
  bool is_withholding_ = false;  // what is heard in a pause, from the ears
  std::vector<float> withheld_;
  bool awaits_text_ = false;
  std::string text_;
  uint64_t revision_ = 0;
  int n_drafts_ = 0;
  std::string preview_;  // what was understood before the pause
  uint64_t n_pauses_ = 0;
  int64_t speech_end_ = 0;  // of the pause, as in TurnEvent
  TurnEndSigns signs_;
  std::optional<double> end_silence_ms_;
  bool has_asked_ = false;  // the assistant, with its last sentence

  std::optional<Reply> reply_;
  uint64_t n_replies_ = 0;
  int64_t n_turns_ = 0;
};

// Runs the conversation on this thread until nothing more will be heard and all is said, or until it is
// cancelled.
Result<void> run_talk(Talk& talk, Inbox& inbox, const TalkClock& clock, Cancellation cancellation = {});

}  // namespace parlance
