#include "realtime/spoken_turn.h"

namespace parlance {

SpokenMove next_move(SpokenState state, SpokenEvent event) {
  using State = SpokenState;
  using Event = SpokenEvent;
  using Action = SpokenAction;
  const bool is_open = state != State::closing && state != State::over;
  const bool has_draft = state == State::ready;
  if (event == Event::clear && is_open) {
    return {State::over, has_draft ? std::vector{Action::drop_draft} : std::vector<Action>{}};
  }
  if (event == Event::blip && is_open) {
    return {State::over, has_draft ? std::vector{Action::drop_draft, Action::commit, Action::tell_none}
                                   : std::vector{Action::commit, Action::tell_none}};
  }
  switch (state) {
    case State::speaking:
      if (event == Event::pause) return {State::pausing, {Action::transcribe}};
      if (event == Event::end) return {State::closing, {Action::commit, Action::transcribe}};
      break;
    case State::pausing:
      if (event == Event::resume) return {State::speaking, {Action::go_on}};
      if (event == Event::words) return {State::ready, {Action::draft}};
      if (event == Event::no_words) return {State::wordless, {}};
      if (event == Event::end) return {State::closing, {Action::commit}};
      break;
    case State::wordless:
      if (event == Event::resume) return {State::speaking, {Action::go_on}};
      if (event == Event::end) return {State::over, {Action::commit, Action::tell_text}};
      break;
    case State::ready:
      if (event == Event::resume) return {State::speaking, {Action::drop_draft, Action::go_on}};
      if (event == Event::end) return {State::over, {Action::commit, Action::tell_text, Action::answer}};
      break;
    case State::closing:
      if (event == Event::words) return {State::over, {Action::tell_text, Action::answer}};
      if (event == Event::no_words) return {State::over, {Action::tell_text}};
      break;
    case State::over:
      break;
  }
  return {state, {}};
}

std::string_view name_of(SpokenState state) {
  constexpr std::string_view kNames[kSpokenStates] = {"speaking", "pausing", "wordless",
                                                      "ready",    "closing", "over"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view name_of(SpokenEvent event) {
  constexpr std::string_view kNames[kSpokenEvents] = {"pause", "resume",   "end",  "blip",
                                                      "words", "no_words", "clear"};
  return kNames[static_cast<size_t>(event)];
}

}  // namespace parlance
