// What is said while an answer is thought about.
#include <gtest/gtest.h>

#include "realtime/support/scripted_session.h"

namespace parlance {
namespace {

using test::RealtimeScript;
using test::said;
using test::ScriptedSession;

// A turn is over, and the model takes its time.
TEST(SessionFiller, StandsInUntilTheAnswerSounds) {
  for (const double first_token_ms : {20.0, 250.0, 900.0}) {
    SCOPED_TRACE(first_token_ms);
    RealtimeScript script;
    script.first_token_ms = first_token_ms + 500;  // from the pause on, at which it is drafted
    ScriptedSession s(script);
    s.update(R"({"parlance":{"filler":"turn_end"}})");
    s.run(500);
    EXPECT_EQ(s.n_of("parlance.filler"), 0u);
    s.hear(200, false);
    s.hear(1000, true);
    s.hear(700, false);
    s.run(4000);
    const double answer_ms = s.time_of("response.output_audio.delta");
    ASSERT_GT(answer_ms, 0) << s.log();
    ASSERT_EQ(s.n_of("parlance.filler"), 1u) << s.log();
    const double filler_ms = s.time_of("parlance.filler");
    EXPECT_EQ(filler_ms, s.time_of("input_audio_buffer.speech_stopped"));
    // "one sec" lasts for 280 ms.
    const std::string sound = *from_base64((*s.last("parlance.filler"))["audio"].get<std::string>());
    EXPECT_EQ(sound.size(), 280u * 48);
    const bool is_cut = answer_ms < filler_ms + 280;
    EXPECT_EQ(s.time_of("parlance.filler.cleared"), is_cut ? answer_ms : -1) << s.log();
    EXPECT_EQ(said(*s.last("response.done")), "Well, that was said. It is fine with me.");
  }
}

TEST(SessionFiller, SoundsWhenSpeechBegins) {
  ScriptedSession s;
  s.update(R"({"parlance":{"filler":"speech_start"},"audio":{"output":{"format":{"type":"audio/pcmu"}}}})");
  s.run(500);
  s.hear(200, false);
  s.hear(1000, true);
  s.hear(700, false);
  s.run(4000);
  ASSERT_EQ(s.n_of("parlance.filler"), 1u) << s.log();
  EXPECT_EQ(s.time_of("parlance.filler"), s.time_of("input_audio_buffer.speech_started"));
  const std::string sound = *from_base64((*s.last("parlance.filler"))["audio"].get<std::string>());
  EXPECT_EQ(sound.size(), 280u * 8);
  EXPECT_EQ(s.n_of("parlance.filler.cleared"), 0u) << "it was over before";
}

// A turn that is not to be answered, after all, has no filler from then on: at any moment of it, and behind
// it.
TEST(SessionFiller, IsGoneWhenTheTurnIsCancelled) {
  for (int wait_ms = 0; wait_ms <= 340; wait_ms += 10) {
    SCOPED_TRACE(wait_ms);
    RealtimeScript script;
    script.asr_ms = 1200;
    ScriptedSession s(script);
    s.update(R"({"parlance":{"filler":"turn_end"}})");
    s.run(500);
    s.hear(600, true);
    while (s.n_of("input_audio_buffer.speech_stopped") == 0) s.hear(20, false);
    s.run(wait_ms);
    ASSERT_EQ(s.n_of("parlance.filler"), 1u) << s.log();
    const double heard_ms = s.now_ms() - s.time_of("parlance.filler");
    s.tell(R"({"type":"response.cancel"})");
    EXPECT_EQ(s.n_of("parlance.filler.cleared"), heard_ms < 280 ? 1u : 0u) << heard_ms;
    s.run(3000);
    EXPECT_EQ(s.n_of("parlance.filler"), 1u);
    EXPECT_EQ(s.n_of("response.created"), 0u);
  }
}

// Speech at any moment after the turn: the filler of that turn is gone by then, and the next turn has its
// own.
TEST(SessionFiller, IsGoneWhenTheTurnChanges) {
  for (int wait_ms = 0; wait_ms <= 1000; wait_ms += 20) {
    SCOPED_TRACE(wait_ms);
    RealtimeScript script;
    script.first_token_ms = 1200;
    ScriptedSession s(script);
    s.update(R"({"parlance":{"filler":"turn_end"}})");
    s.hear(500, false);
    s.hear(600, true);
    s.hear(600, false);
    if (s.n_of("parlance.filler") == 0) ADD_FAILURE() << s.log();
    s.run(wait_ms);
    s.hear(600, true);
    s.hear(600, false);
    s.run(4000);
    std::vector<std::pair<double, double>> fillers;  // when each sounds
    for (size_t i = 0; i < s.events.size(); ++i) {
      const std::string type = s.events[i]["type"];
      if (type == "parlance.filler") fillers.emplace_back(s.times[i], s.times[i] + 280);
      if (type == "parlance.filler.cleared") fillers.back().second = s.times[i];
    }
    for (size_t i = 0; i < s.events.size(); ++i) {
      const std::string type = s.events[i]["type"];
      if (type != "input_audio_buffer.speech_started" && type != "response.output_audio.delta") continue;
      for (const auto& [begin_ms, end_ms] : fillers)
        EXPECT_FALSE(begin_ms < s.times[i] && s.times[i] < end_ms) << type << " at " << s.times[i];
    }
    EXPECT_EQ(s.n_of("parlance.filler"), 2u) << s.log();
  }
}

}  // namespace
}  // namespace parlance
