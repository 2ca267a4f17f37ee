// What becomes of something that a person says: the state machine of one item of sound, from its first speech
// to its text. It is not the machine of `talk` (voice/turn_machine.h): there a turn that goes on after its
// end takes its answer back, here the item was committed by then, the client knows it, and what follows is
// another item, which may begin while the text of this one is still being made. So each item has a machine of
// its own, and who may answer is decided elsewhere (session.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace parlance {

enum class SpokenState : uint8_t {
  speaking,  // the person speaks
  pausing,   // a short silence; the text so far is being made
  wordless,  // it is known, and empty
  ready,     // it is known, and answered in advance: nothing of that is told
  closing,   // the item is committed; its text is being made
  over,
};
inline constexpr int kSpokenStates = 6;

enum class SpokenEvent : uint8_t {
  pause,     // a short silence
  resume,    // speech after one
  end,       // the turn is over: a long silence, or the client says so
  blip,      // the same, and it was too short to be speech
  words,     // the text is known as for good
  no_words,  // and is empty
  clear,     // the client wants none of it
};
inline constexpr int kSpokenEvents = 7;

enum class SpokenAction : uint8_t {
  transcribe,  // the text is wanted, as for good
  go_on,       // it is not: there is more to hear
  draft,       // the text is answered in advance
  drop_draft,  // for nothing
  commit,      // the item is part of the conversation
  tell_text,   // its text is known for good
  tell_none,   // there are no words in it, whatever was understood
  answer,      // it is to be answered
};

struct SpokenMove {
  SpokenState state;
  std::vector<SpokenAction> actions;  // in this order

  bool operator==(const SpokenMove&) const = default;
};

// An event that means nothing in a state leaves it, without actions.
SpokenMove next_move(SpokenState state, SpokenEvent event);

std::string_view name_of(SpokenState state);
std::string_view name_of(SpokenEvent event);

}  // namespace parlance
