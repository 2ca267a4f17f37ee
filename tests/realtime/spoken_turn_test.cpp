#include "realtime/spoken_turn.h"

#include <gtest/gtest.h>

namespace parlance {
namespace {

TEST(SpokenTurn, EveryCell) {
  using S = SpokenState;
  using E = SpokenEvent;
  using A = SpokenAction;
  struct Cell {
    S state;
    E event;
    SpokenMove move;
  };
  // What is not listed leaves the state, without actions.
  const std::vector<Cell> cells = {
      {S::speaking, E::pause, {S::pausing, {A::transcribe}}},
      {S::speaking, E::end, {S::closing, {A::commit, A::transcribe}}},
      {S::speaking, E::blip, {S::over, {A::commit, A::tell_none}}},
      {S::speaking, E::clear, {S::over, {}}},
      {S::pausing, E::resume, {S::speaking, {A::go_on}}},
      {S::pausing, E::end, {S::closing, {A::commit}}},
      {S::pausing, E::blip, {S::over, {A::commit, A::tell_none}}},
      {S::pausing, E::words, {S::ready, {A::draft}}},
      {S::pausing, E::no_words, {S::wordless, {}}},
      {S::pausing, E::clear, {S::over, {}}},
      {S::wordless, E::resume, {S::speaking, {A::go_on}}},
      {S::wordless, E::end, {S::over, {A::commit, A::tell_text}}},
      {S::wordless, E::blip, {S::over, {A::commit, A::tell_none}}},
      {S::wordless, E::clear, {S::over, {}}},
      {S::ready, E::resume, {S::speaking, {A::drop_draft, A::go_on}}},
      {S::ready, E::end, {S::over, {A::commit, A::tell_text, A::answer}}},
      {S::ready, E::blip, {S::over, {A::drop_draft, A::commit, A::tell_none}}},
      {S::ready, E::clear, {S::over, {A::drop_draft}}},
      {S::closing, E::words, {S::over, {A::tell_text, A::answer}}},
      {S::closing, E::no_words, {S::over, {A::tell_text}}},
  };
  for (int s = 0; s < kSpokenStates; ++s) {
    for (int e = 0; e < kSpokenEvents; ++e) {
      const auto state = static_cast<S>(s);
      const auto event = static_cast<E>(e);
      SpokenMove expected{state, {}};
      for (const Cell& cell : cells) {
        if (cell.state == state && cell.event == event) expected = cell.move;
      }
      EXPECT_EQ(next_move(state, event), expected) << name_of(state) << ", " << name_of(event);
    }
  }
}

}  // namespace
}  // namespace parlance
