// Who has the word: the state machine of a conversation by voice. It knows no audio, no models and no clock;
// talk.h owns it, tells it what happens, and does what it says.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace parlance {

enum class TalkState : uint8_t {
  idle,       // nobody speaks
  hearing,    // the person speaks
  pausing,    // the person paused; the text of what was said is being made
  drafting,   // it is known, and answered in advance: nothing of the answer is heard yet
  wordless,   // nothing was understood; perhaps the person goes on
  closing,    // the person has finished; the text is still being made
  answering,  // the answer may be heard, and has no sound yet
  speaking,   // the answer is heard
  doubting,   // something was heard over the answer, which is silent until it is clear what it was
};
inline constexpr int kTalkStates = 9;

enum class TalkEvent : uint8_t {
  speech_start,    // somebody makes a sound that may be speech
  certain_speech,  // and it is speech: there are words in it, or it is too long to be a cough
  pause,           // a short silence
  resume,          // speech after a short silence
  end,             // a silence that ends a turn
  blip,            // the same, and what was heard is too short for speech
  words,           // the text of the turn so far is known, and there are words
  no_words,        // or it is empty
  sound,           // the first sound of the answer is there
  said,            // the answer was heard to its end, or has none
};
inline constexpr int kTalkEvents = 10;

enum class TalkAction : uint8_t {
  open_turn,    // a new transcript begins, with what is heard from now on
  transcribe,   // the text so far is wanted, as for good
  go_on,        // it is no longer: there is more to hear
  draft,        // the text is answered, silently
  drop_draft,   // that answer is for nothing
  release,      // the answer may be heard
  commit,       // the answer is heard: what was asked is part of the conversation now
  hush,         // the sound of the answer stops, and can go on
  unhush,       // and it does
  interrupt,    // the answer ends here
  forget_turn,  // nothing was asked
};

struct TalkMove {
  TalkState state;
  std::vector<TalkAction> actions;  // in this order

  bool operator==(const TalkMove&) const = default;
};

// An event that means nothing in a state leaves it, without actions.
TalkMove next_move(TalkState state, TalkEvent event);

std::string_view name_of(TalkState state);
std::string_view name_of(TalkEvent event);
std::string_view name_of(TalkAction action);

}  // namespace parlance
