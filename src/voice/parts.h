// What a conversation by voice is made of, as its owner (talk.h) sees it: four parts that work on their own,
// never keep it waiting, and post what happens to its inbox (inbox.h). Behind them are a recogniser, a
// language model, a synthesizer and a loudspeaker; in tests, scripts on a virtual clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "vad/turn_detector.h"

namespace parlance {

// Milliseconds on one clock, which all of a conversation is timed by.
using TalkClock = std::function<double()>;

// What was recognised of the open turn.
struct Hearing {
  std::string text;
  size_t n_stable = 0;    // bytes of it that will hardly change
  uint64_t revision = 0;  // counts changes
  bool is_final = false;  // as pause() wanted it
};

// Answers come as messages: HeardWords, whenever that changes.
class Ears {
 public:
  virtual ~Ears() = default;

  // A new transcript; what was heard before is forgotten.
  virtual Result<void> begin() = 0;
  virtual Result<void> feed(std::span<const float> samples) = 0;
  // The final text of what was fed is wanted now, and told even if it is known; more samples make it a
  // preview again.
  virtual void pause() = 0;
};

// Answers come as messages: Thought, then ThoughtEnd.
class Mind {
 public:
  virtual ~Mind() = default;

  virtual void ask(uint64_t reply, const std::string& question) = 0;
  // Whether a turn is likely to end with these words: told as TurnJudged, for that pause, unless it is asked
  // about another one before. False: it cannot say.
  virtual bool judge(uint64_t pause, const std::string& words) {
    (void)pause, (void)words;
    return false;
  }
  // The question was not asked, and is forgotten with what was answered.
  virtual void drop(uint64_t reply) = 0;
  // Nothing more is wanted of the answer, of which this much was heard: that is what stays in memory.
  virtual void cut(uint64_t reply, const std::string& heard) = 0;
};

// Speech comes as messages: SpeechBegun, Spoken, SpeechEnd for each phrase in turn.
class Mouth {
 public:
  virtual ~Mouth() = default;

  virtual void say(uint64_t reply, int64_t phrase, const std::string& text) = 0;
  // All that it was told to say until now.
  virtual void cancel() = 0;
};

// Who listens for the end of a turn.
class Attention {
 public:
  virtual ~Attention() = default;

  // The silence that began at this sample (TurnEvent::speech_end) ends the turn when it has lasted for so
  // long.
  virtual void expect_end(int64_t speech_end, double silence_ms) = 0;
};

class Loudspeaker {
 public:
  virtual ~Loudspeaker() = default;

  // A new answer: samples are counted from 0.
  virtual void begin_answer() = 0;
  virtual void play(std::span<const float> samples) = 0;  // behind what is being played
  virtual void hush() = 0;                                // silence, soon; the rest is kept
  virtual void unhush() = 0;
  virtual void stop() = 0;  // silence, soon; the rest is dropped
  // Goes on as far as time has; to be called when something changed, and again after wait_ms().
  virtual Result<void> tick() = 0;
  // None: nothing happens by itself.
  virtual std::optional<double> wait_ms() const = 0;
  virtual int64_t n_heard() const = 0;  // samples of the answer
  virtual bool is_drained() const = 0;  // all that was given has been heard
};

// Messages to the owner; times are when it happened.

struct HeardTurn {  // by the voice detector
  TurnEvent event;
  double at_ms;
  double speech_start_ms, speech_end_ms;  // when the samples of the event's positions were heard
  double final_level = 1;                 // TurnDetector::final_level()
};
struct HeardSound {  // of speech, in order
  std::vector<float> samples;
};
struct SourceOver {};  // nothing more will be heard
struct HeardWords {    // of the open turn, by the ears
  Hearing hearing;
  double at_ms;
};

struct TurnJudged {  // by the mind
  uint64_t pause;
  double probability;  // that the turn has ended
  double at_ms;
};

struct Thought {
  uint64_t reply;
  std::string text;
  double at_ms;
};
struct ThoughtEnd {
  uint64_t reply;
  double at_ms;
  DraftCounts draft = {};
};

struct SpeechBegun {
  uint64_t reply;
  int64_t phrase;
  double at_ms;
};
struct Spoken {
  uint64_t reply;
  int64_t phrase;
  std::vector<float> samples;
  double at_ms;
};
struct SpeechEnd {
  uint64_t reply;
  int64_t phrase;
  double at_ms;
};

struct Broken {  // a part cannot go on
  Error error;
};

using TalkMessage = std::variant<HeardTurn, HeardSound, SourceOver, HeardWords, TurnJudged, Thought,
                                 ThoughtEnd, SpeechBegun, Spoken, SpeechEnd, Broken>;

// A part that tells the inbox that there is news (Inbox::notify), and is asked for it by the owner: so that
// nothing piles up, however late the owner is.
class TalkPart {
 public:
  virtual ~TalkPart() = default;
  // Appends what has happened since it was last asked. On the owner's thread.
  virtual void report(std::vector<TalkMessage>& news) = 0;
};

}  // namespace parlance
