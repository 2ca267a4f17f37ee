#include "tts/speech_plan.h"

#include <gtest/gtest.h>

#include "text/unicode.h"

namespace parlance {
namespace {

constexpr const char* kText =
    "This is a test of speech. The quick brown fox jumped over the lazy dog, and the world said hello. Hello "
    "world.";

TEST(SpeechPlan, ShortTextIsOneChunk) {
  EXPECT_EQ(plan_chunks(kText, {}, {}), std::vector<std::string>{kText});
  EXPECT_EQ(plan_chunks(kText, {.chunk_seconds = 0, .threshold_seconds = 0}, {}),
            std::vector<std::string>{kText});
  EXPECT_EQ(plan_chunks("", {}, {}), std::vector<std::string>{""});
  EXPECT_EQ(plan_chunks(" \n ", kStreamedChunking, {}).size(), 1u);
}

TEST(SpeechPlan, LongTextIsCutAtSentences) {
  const std::vector<std::string> chunks{"This is a test of speech.",
                                        "The quick brown fox jumped over the lazy dog,",
                                        "and the world said hello.", "Hello world."};
  EXPECT_EQ(plan_chunks(kText, {.chunk_seconds = 1.2f, .threshold_seconds = 1.5f}, {}), chunks);
}

TEST(SpeechPlan, AStreamBeginsWithAClause) {
  const auto chunks = plan_chunks(kText, kStreamedChunking, {});
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0], "This is a test of speech.");
  EXPECT_TRUE(chunks[1].starts_with("The quick"));
}

TEST(SpeechPlan, NumbersTakeTheTimeOfTheirWords) {
  const std::string_view written = "740 plus 174 is 914.";
  const std::string_view said = "seven hundred forty plus one hundred seventy four is nine hundred fourteen.";
  EXPECT_EQ(frames_at_pace(written, {}), 68);
  EXPECT_EQ(frames_to_say(written, written, {}), 68);
  EXPECT_EQ(frames_to_say(written, said, {}), 98);
  EXPECT_EQ(frames_to_say("It is 3:40 pm now.", "It is three forty P M now.", {}), 45);
}

TEST(SpeechPlan, PaceFollowsReferenceAndSpeed) {
  const int32_t n = frames_at_pace(kText, {});
  EXPECT_EQ(frames_at_pace(kText, {.speed = 2}), n / 2);
  EXPECT_EQ(frames_at_pace("a", {.speed = 10}), 1);
  // Twice as slow as the ordinary pace, "Nice to meet you." in 25 frames.
  EXPECT_NEAR(frames_at_pace(kText, {.reference_text = "Nice to meet you.", .n_reference = 50}), 2 * n, 1);
}

// Text that nothing divides is cut by length, and all of it is kept.
TEST(SpeechPlan, NoChunkIsTooLongToSpeak) {
  std::string words, letters, hanzi, digits;
  for (int i = 0; i < 20000; ++i) words += "word ";
  for (int i = 0; i < 100000; ++i) letters += 'a';
  for (int i = 0; i < 33000; ++i) hanzi += "好";
  for (int i = 0; i < 100000; ++i) digits += i < 50000 ? ' ' : '7';
  for (const std::string& text : {words, letters, hanzi, digits}) {
    for (const Chunking& chunking : {Chunking(), kStreamedChunking}) {
      std::string joined;
      for (const std::string& chunk : plan_chunks(text, chunking, {})) {
        EXPECT_FALSE(chunk.empty());
        EXPECT_LE(frames_at_pace(chunk, {}), kMostChunkFrames);
        joined += chunk;
      }
      std::string expected = text;
      std::erase(expected, ' ');
      std::erase(joined, ' ');
      EXPECT_EQ(joined, expected);
    }
  }
}

}  // namespace
}  // namespace parlance
