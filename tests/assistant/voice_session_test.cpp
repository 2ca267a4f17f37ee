// Conversations by voice on tiny models of random weights.
#include "assistant/voice_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "assistant/events.h"
#include "assistant/support/tiny_bundle.h"
#include "voice/playback.h"

namespace parlance::test {
namespace {

int n_threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

class VoiceSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_TINY_BUNDLE();
    choice_ = tiny_choice(folder_);
    choice_.context.n_seq = 4;
    choice_.recognizer.n_streams = 4;
    options_.mouth.manner.decoding.n_step = 1;
    options_.mind.generate.max_tokens = 12;
    options_.mind.generate.sampling.temperature = 0;
    for (const std::string& wave : vad_waves())
      if (wave.find("turns") != std::string::npos) recording_ = vad_fixtures() / (wave + ".wav");
    if (recording_.empty()) recording_ = vad_fixtures() / (vad_waves().front() + ".wav");
  }

  std::vector<std::unique_ptr<SoundSource>> sources() const {
    std::vector<std::unique_ptr<SoundSource>> sources;
    auto source = open_recording(recording_);
    EXPECT_TRUE(source) << source.error().message;
    sources.push_back(*std::move(source));
    return sources;
  }

  // What happened in a conversation with the recording.
  std::vector<AssistantEvent> talk(VoiceSession& session, const Cancellation& cancellation = {}) {
    std::vector<AssistantEvent> events;
    EventTeller teller([&](const AssistantEvent& event) { events.push_back(event); });
    const auto playback = *Playback::create(make_instant_speaker());
    session.listen_to(sources(), {.is_paced = false});
    const auto done = session.run(*playback, teller, cancellation);
    EXPECT_TRUE(done) << done.error().message;
    return events;
  }

  static std::vector<std::string> questions(const std::vector<AssistantEvent>& events) {
    std::vector<std::string> questions;
    for (const AssistantEvent& event : events)
      if (const auto* question = std::get_if<QuestionEvent>(&event)) questions.push_back(question->text);
    return questions;
  }

  const TalkClock clock_ = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  const TemporaryFolder folder_;
  Choice choice_;
  VoiceSessionOptions options_;
  std::filesystem::path recording_;
};

TEST_F(VoiceSessionTest, AnswersEveryTurn) {
  Regions regions(choice_);
  const auto session = VoiceSession::open(regions, options_, clock_);
  ASSERT_TRUE(session) << session.error().message;
  const auto events = talk(**session);
  size_t n_turns = 0;
  std::string answer;
  for (const AssistantEvent& event : events) {
    if (const auto* piece = std::get_if<AnswerEvent>(&event)) answer += piece->text;
    const auto* turn = std::get_if<TurnEndEvent>(&event);
    if (!turn) continue;
    EXPECT_EQ(turn->report.number, static_cast<int64_t>(++n_turns));
    EXPECT_EQ(turn->report.answer, std::exchange(answer, {}));
    EXPECT_FALSE(turn->report.is_interrupted);
  }
  EXPECT_GE(n_turns, 1u);
  EXPECT_EQ(questions(events).size(), n_turns);
}

// Several conversations on the same models: each is as it is alone, and none has a thread of its own.
TEST_F(VoiceSessionTest, SessionsShareModelsAndThreads) {
  Regions regions(choice_);
  std::vector<std::vector<std::string>> asked(3);
  {
    const auto alone = VoiceSession::open(regions, options_, clock_);
    ASSERT_TRUE(alone) << alone.error().message;
    asked[0] = questions(talk(**alone));
    const int n_threads = n_threads_now();
    std::vector<std::unique_ptr<VoiceSession>> more;
    for (int i = 0; i < 3; ++i) {
      auto session = VoiceSession::open(regions, options_, clock_);
      ASSERT_TRUE(session) << session.error().message;
      more.push_back(*std::move(session));
    }
    // The mouth's queue takes the second of its two threads when two have wanted to speak for the first time.
    EXPECT_LE(n_threads_now(), n_threads + 1);  // threads that move pages end by themselves
  }
  const auto a = VoiceSession::open(regions, options_, clock_),
             b = VoiceSession::open(regions, options_, clock_);
  ASSERT_TRUE(a && b);
  {
    std::jthread other([&] { asked[1] = questions(talk(**a)); });
    asked[2] = questions(talk(**b));
  }
  ASSERT_FALSE(asked[0].empty());
  EXPECT_EQ(asked[1], asked[0]);
  EXPECT_EQ(asked[2], asked[0]);
}

TEST_F(VoiceSessionTest, CancelEndsIt) {
  Regions regions(choice_);
  const auto session = VoiceSession::open(regions, options_, clock_);
  ASSERT_TRUE(session) << session.error().message;
  const CancellationSource source;
  const Cancellation cancellation = source.ticket();
  EventTeller teller([&](const AssistantEvent& event) {
    if (std::holds_alternative<StateEvent>(event)) source.cancel();
  });
  const auto playback = *Playback::create(make_instant_speaker());
  (*session)->listen_to(sources(), {.is_paced = false});
  EXPECT_TRUE((*session)->run(*playback, teller, cancellation));
}

TEST_F(VoiceSessionTest, ErrorsNameWhatIsMissing) {
  choice_.files.text = "/nowhere.gguf";
  Regions regions(choice_);
  const auto session = VoiceSession::open(regions, options_, clock_);
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message.find("/nowhere.gguf"), std::string::npos) << session.error().message;
  choice_.files.text.clear();
  options_.voice = "nobody";
  Regions whole(choice_);
  const auto without_voice = VoiceSession::open(whole, options_, clock_);
  ASSERT_FALSE(without_voice);
  EXPECT_NE(without_voice.error().message.find("nobody"), std::string::npos) << without_voice.error().message;
}

}  // namespace
}  // namespace parlance::test
