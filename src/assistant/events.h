// What happens while an assistant hears and talks, as those who watch it are told: a line for a program, an
// event of a stream, a message of a socket.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "assistant/transcriber.h"
#include "json/json.h"
#include "voice/talk.h"

namespace parlance {

// Of sound that is transcribed.
struct PartialEvent {  // what is being said, from `start_s` on
  double start_s = 0;
  AsrPartial partial;
};
struct SegmentEvent {  // a stretch of speech that has ended
  HeardSegment segment;
};

// Of a conversation by voice.
struct StateEvent {
  TalkState state;
};
struct HearingEvent {  // of the open turn
  Hearing hearing;
};
struct QuestionEvent {  // is part of the conversation now
  std::string text;
};
struct AnswerEvent {  // the next piece of it
  std::string text;
};
struct TurnEndEvent {
  TurnReport report;
};

struct ErrorEvent {  // nothing comes behind it
  Error error;
};

using AssistantEvent = std::variant<PartialEvent, SegmentEvent, StateEvent, HearingEvent, QuestionEvent,
                                    AnswerEvent, TurnEndEvent, ErrorEvent>;

// "partial", "final", "state", "hearing", "question", "answer", "turn", "error": the member "type".
std::string_view type_of(const AssistantEvent& event);

// One object; times in seconds of the sound, those of a turn in milliseconds after the end of speech.
Json to_json(const AssistantEvent& event);

// What is in some of them.
Json to_json(const HeardSegment& segment);
Json to_json(const TurnReport& report);

using OnEvent = std::function<void(const AssistantEvent& event)>;

// Whoever watches a transcriber or a conversation, as events.
class EventTeller final : public TranscriberListener, public TalkObserver {
 public:
  explicit EventTeller(OnEvent on_event) : tell_(std::move(on_event)) {}

  void on_partial(double start_s, const AsrPartial& partial) override {
    tell_(PartialEvent{start_s, partial});
  }
  void on_segment(const HeardSegment& segment) override { tell_(SegmentEvent{segment}); }
  void on_state(TalkState state) override { tell_(StateEvent{state}); }
  void on_hearing(const Hearing& hearing) override { tell_(HearingEvent{hearing}); }
  void on_question(std::string_view question) override { tell_(QuestionEvent{std::string(question)}); }
  void on_answer(std::string_view text) override { tell_(AnswerEvent{std::string(text)}); }
  void on_turn(const TurnReport& report) override { tell_(TurnEndEvent{report}); }

 private:
  OnEvent tell_;
};

}  // namespace parlance
