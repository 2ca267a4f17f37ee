// Every cell of the state machine.
#include "voice/turn_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace parlance {

// In messages of failed tests.
void PrintTo(const TalkMove& move, std::ostream* out) {
  *out << name_of(move.state) << " {";
  for (const TalkAction action : move.actions) *out << ' ' << name_of(action);
  *out << " }";
}

namespace {

using S = TalkState;
using E = TalkEvent;
using A = TalkAction;

// What is not listed changes nothing.
const std::map<std::pair<S, E>, TalkMove> kMoves = {
    {{S::idle, E::speech_start}, {S::hearing, {A::open_turn}}},
    {{S::idle, E::resume}, {S::hearing, {A::open_turn}}},

    {{S::hearing, E::pause}, {S::pausing, {A::transcribe}}},
    {{S::hearing, E::end}, {S::closing, {A::transcribe}}},
    {{S::hearing, E::blip}, {S::idle, {A::forget_turn}}},

    {{S::pausing, E::resume}, {S::hearing, {A::go_on}}},
    {{S::pausing, E::words}, {S::drafting, {A::draft}}},
    {{S::pausing, E::no_words}, {S::wordless, {}}},
    {{S::pausing, E::end}, {S::closing, {}}},
    {{S::pausing, E::blip}, {S::idle, {A::forget_turn}}},

    {{S::drafting, E::resume}, {S::hearing, {A::drop_draft, A::go_on}}},
    {{S::drafting, E::end}, {S::answering, {A::release}}},
    {{S::drafting, E::blip}, {S::idle, {A::drop_draft, A::forget_turn}}},

    {{S::wordless, E::resume}, {S::hearing, {A::go_on}}},
    {{S::wordless, E::end}, {S::idle, {A::forget_turn}}},
    {{S::wordless, E::blip}, {S::idle, {A::forget_turn}}},

    {{S::closing, E::speech_start}, {S::hearing, {A::go_on}}},
    {{S::closing, E::words}, {S::answering, {A::draft, A::release}}},
    {{S::closing, E::no_words}, {S::idle, {A::forget_turn}}},

    {{S::answering, E::speech_start}, {S::hearing, {A::drop_draft, A::go_on}}},
    {{S::answering, E::sound}, {S::speaking, {A::commit}}},
    {{S::answering, E::said}, {S::idle, {A::commit}}},

    {{S::speaking, E::speech_start}, {S::doubting, {A::hush, A::open_turn}}},
    {{S::speaking, E::resume}, {S::doubting, {A::hush, A::open_turn}}},
    {{S::speaking, E::said}, {S::idle, {}}},

    {{S::doubting, E::certain_speech}, {S::hearing, {A::interrupt, A::go_on}}},
    {{S::doubting, E::resume}, {S::hearing, {A::interrupt, A::go_on}}},
    {{S::doubting, E::pause}, {S::doubting, {A::transcribe}}},
    {{S::doubting, E::words}, {S::drafting, {A::interrupt, A::draft}}},
    {{S::doubting, E::no_words}, {S::speaking, {A::forget_turn, A::unhush}}},
    {{S::doubting, E::blip}, {S::speaking, {A::forget_turn, A::unhush}}},
    {{S::doubting, E::end}, {S::closing, {A::interrupt, A::transcribe}}},
};

TEST(TurnMachine, EveryCell) {
  int n_moves = 0;
  for (int s = 0; s < kTalkStates; ++s) {
    for (int e = 0; e < kTalkEvents; ++e) {
      const auto state = static_cast<S>(s);
      const auto event = static_cast<E>(e);
      const auto listed = kMoves.find({state, event});
      const TalkMove expected = listed == kMoves.end() ? TalkMove{state, {}} : listed->second;
      EXPECT_EQ(next_move(state, event), expected) << name_of(state) << " + " << name_of(event);
      n_moves += listed != kMoves.end();
    }
  }
  EXPECT_EQ(n_moves, static_cast<int>(kMoves.size()));
}

TEST(TurnMachine, EverythingHasAName) {
  for (int s = 0; s < kTalkStates; ++s) EXPECT_FALSE(name_of(static_cast<S>(s)).empty());
  for (int e = 0; e < kTalkEvents; ++e) EXPECT_FALSE(name_of(static_cast<E>(e)).empty());
}

}  // namespace
}  // namespace parlance
