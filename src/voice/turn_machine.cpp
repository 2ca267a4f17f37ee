#include "voice/turn_machine.h"

namespace parlance {

namespace {

using State = TalkState;
using Event = TalkEvent;
using Action = TalkAction;

}  // namespace

TalkMove next_move(TalkState state, TalkEvent event) {
  const TalkMove stay{state, {}};
  switch (state) {
    case State::idle:
      // Speech may resume where a turn was closed for good: in what nobody understood, or in a cough.
      if (event == Event::speech_start || event == Event::resume)
        return {State::hearing, {Action::open_turn}};
      return stay;

    case State::hearing:
      if (event == Event::pause) return {State::pausing, {Action::transcribe}};
      if (event == Event::end) return {State::closing, {Action::transcribe}};
      if (event == Event::blip) return {State::idle, {Action::forget_turn}};
      return stay;

    case State::pausing:
      if (event == Event::resume) return {State::hearing, {Action::go_on}};
      if (event == Event::words) return {State::drafting, {Action::draft}};
      if (event == Event::no_words) return {State::wordless, {}};
      if (event == Event::end) return {State::closing, {}};
      if (event == Event::blip) return {State::idle, {Action::forget_turn}};
      return stay;

    case State::drafting:
      if (event == Event::resume) return {State::hearing, {Action::drop_draft, Action::go_on}};
      if (event == Event::end) return {State::answering, {Action::release}};
      if (event == Event::blip) return {State::idle, {Action::drop_draft, Action::forget_turn}};
      return stay;

    case State::wordless:
      if (event == Event::resume) return {State::hearing, {Action::go_on}};
      if (event == Event::end || event == Event::blip) return {State::idle, {Action::forget_turn}};
      return stay;

    // Whoever speaks again before there is an answer goes on with the same turn: the end was none.
    case State::closing:
      if (event == Event::speech_start) return {State::hearing, {Action::go_on}};
      if (event == Event::words) return {State::answering, {Action::draft, Action::release}};
      if (event == Event::no_words) return {State::idle, {Action::forget_turn}};
      return stay;

    case State::answering:
      if (event == Event::speech_start) return {State::hearing, {Action::drop_draft, Action::go_on}};
      if (event == Event::sound) return {State::speaking, {Action::commit}};
      if (event == Event::said) return {State::idle, {Action::commit}};
      return stay;

    case State::speaking:
      if (event == Event::speech_start || event == Event::resume) {
        return {State::doubting, {Action::hush, Action::open_turn}};
      }
      if (event == Event::said) return {State::idle, {}};
      return stay;

    case State::doubting:
      if (event == Event::certain_speech || event == Event::resume) {
        return {State::hearing, {Action::interrupt, Action::go_on}};
      }
      // A short word ("stop") may be over before it is long enough for speech: its text decides.
      if (event == Event::pause) return {State::doubting, {Action::transcribe}};
      if (event == Event::words) return {State::drafting, {Action::interrupt, Action::draft}};
      if (event == Event::no_words || event == Event::blip) {
        return {State::speaking, {Action::forget_turn, Action::unhush}};
      }
      if (event == Event::end) return {State::closing, {Action::interrupt, Action::transcribe}};
      return stay;
  }
  return stay;
}

std::string_view name_of(TalkState state) {
  switch (state) {
    case State::idle:
      return "idle";
    case State::hearing:
      return "hearing";
    case State::pausing:
      return "pausing";
    case State::drafting:
      return "drafting";
    case State::wordless:
      return "wordless";
    case State::closing:
      return "closing";
    case State::answering:
      return "answering";
    case State::speaking:
      return "speaking";
    case State::doubting:
      return "doubting";
  }
  return "";
}

std::string_view name_of(TalkEvent event) {
  switch (event) {
    case Event::speech_start:
      return "speech_start";
    case Event::certain_speech:
      return "certain_speech";
    case Event::pause:
      return "pause";
    case Event::resume:
      return "resume";
    case Event::end:
      return "end";
    case Event::blip:
      return "blip";
    case Event::words:
      return "words";
    case Event::no_words:
      return "no_words";
    case Event::sound:
      return "sound";
    case Event::said:
      return "said";
  }
  return "";
}

std::string_view name_of(TalkAction action) {
  switch (action) {
    case Action::open_turn:
      return "open_turn";
    case Action::transcribe:
      return "transcribe";
    case Action::go_on:
      return "go_on";
    case Action::draft:
      return "draft";
    case Action::drop_draft:
      return "drop_draft";
    case Action::release:
      return "release";
    case Action::commit:
      return "commit";
    case Action::hush:
      return "hush";
    case Action::unhush:
      return "unhush";
    case Action::interrupt:
      return "interrupt";
    case Action::forget_turn:
      return "forget_turn";
  }
  return "";
}

}  // namespace parlance
