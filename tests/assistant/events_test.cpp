#include "assistant/events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace parlance {
namespace {

nlohmann::json parsed(const AssistantEvent& event) {
  return nlohmann::json::parse(to_json(event).line());
}

TEST(AssistantEvents, EveryKindHasANameOfItsOwn) {
  const std::vector<AssistantEvent> all = {PartialEvent{},
                                           SegmentEvent{},
                                           StateEvent{TalkState::hearing},
                                           HearingEvent{},
                                           QuestionEvent{},
                                           AnswerEvent{},
                                           TurnEndEvent{},
                                           ErrorEvent{{ErrorCode::busy, "all are taken"}}};
  ASSERT_EQ(all.size(), std::variant_size_v<AssistantEvent>);
  std::set<std::string> types;
  for (const AssistantEvent& event : all) {
    const auto json = parsed(event);
    EXPECT_EQ(json["type"], type_of(event));
    EXPECT_EQ(json.begin().key().empty(), false);
    EXPECT_GE(json.size(), 2u) << json;
    types.insert(json["type"]);
  }
  EXPECT_EQ(types.size(), all.size());
}

TEST(AssistantEvents, SayWhatHappened) {
  AsrPartial partial;
  partial.transcript = {"English", "Hello wor"};
  partial.stable = "Hello";
  partial.seconds = 1.5;
  EXPECT_EQ(parsed(PartialEvent{2, partial}), (nlohmann::json{{"type", "partial"},
                                                              {"start", 2.0},
                                                              {"end", 3.5},
                                                              {"text", "Hello wor"},
                                                              {"stable", "Hello"},
                                                              {"language", "English"}}));
  HeardSegment segment{
      .start_s = 1, .end_s = 2.00049, .transcript = {"English", "Hello."}, .is_complete = true};
  segment.words.push_back({"Hello", 1.1, 1.6});
  const auto json = parsed(SegmentEvent{segment});
  EXPECT_EQ(json["type"], "final");
  EXPECT_EQ(json["end"], 2.0);
  EXPECT_EQ(json["words"][0]["word"], "Hello");
  EXPECT_EQ(parsed(HearingEvent{{.text = "one two", .n_stable = 3, .revision = 1, .is_final = false}}),
            (nlohmann::json{{"type", "hearing"}, {"text", "one two"}, {"stable", "one"}}));
  EXPECT_EQ(parsed(StateEvent{TalkState::doubting})["state"], "doubting");
  EXPECT_EQ(parsed(ErrorEvent{{ErrorCode::busy, "all \"are\" taken"}})["message"], "all \"are\" taken");
  TurnReport report;
  report.number = 3;
  report.question = "What?";
  report.trace.mark(Checkpoint::speech_end, 1000);
  report.trace.mark(Checkpoint::asr_final, 1031);
  const auto turn = parsed(TurnEndEvent{report});
  EXPECT_EQ(turn["turn"], 3);
  EXPECT_EQ(turn["question"], "What?");
  EXPECT_EQ(turn["checkpoints_ms"]["asr-final"], 31.0);
}

}  // namespace
}  // namespace parlance
