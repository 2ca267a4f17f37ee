#include "assistant/reference_recording.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tts/audio/speech_format.h"

namespace parlance::test {
namespace {

// Words of 0.4 s each, 0.1 s of quiet behind each.
std::vector<float> words(int n) {
  std::vector<float> samples;
  for (int word = 0; word < n; ++word) {
    for (int i = 0; i < speech_samples(400); ++i)
      samples.push_back(0.4f * std::sin(0.07f * static_cast<float>(i)));
    samples.insert(samples.end(), static_cast<size_t>(speech_samples(100)), 0.0f);
  }
  return samples;
}

// What is heard in them: as many words as fit.
const std::string kText = "One two three four, five six seven eight nine ten. Eleven twelve.";
HearReference hears(std::string text, int* n_calls = nullptr) {
  return [text = std::move(text), n_calls](std::span<const float> samples,
                                           const Cancellation&) -> Result<std::string> {
    if (n_calls) ++*n_calls;
    auto n = static_cast<size_t>(static_cast<double>(samples.size()) / kSpeechRateHz / 0.5 + 0.3);
    size_t at = 0;
    for (; n > 0 && at != text.npos; --n) at = text.find(' ', at + 1);
    return text.substr(0, at);
  };
}

TEST(ReferenceRecording, IsCutBehindAWordWithItsText) {
  std::vector<std::string> remarks;
  const auto cut = prepare_recording(words(12), {.name = "me.wav", .text = kText, .most_seconds = 4},
                                     hears("one too three four five six seven eight nine ten eleven twelve"),
                                     [&](const std::string& words_of_it) { remarks.push_back(words_of_it); });
  ASSERT_TRUE(cut) << cut.error().message;
  const double seconds = static_cast<double>(cut->samples.size()) / kSpeechRateHz;
  EXPECT_GE(seconds, 3);
  EXPECT_LE(seconds, 4);
  // In the quiet behind a word: what is left of it is a whole number of words.
  const double in_word = std::fmod(seconds, 0.5);
  EXPECT_GT(in_word, 0.4);
  const auto n_words = static_cast<int>(seconds / 0.5 + 0.5);
  EXPECT_EQ(cut->text,
            n_words == 7 ? "One two three four, five six seven" : "One two three four, five six seven eight");
  EXPECT_FALSE(cut->is_heard);
  EXPECT_TRUE(remarks.empty());
}

TEST(ReferenceRecording, StaysWholeWhereItsWordsAreOthers) {
  std::vector<std::string> remarks;
  const auto whole = prepare_recording(
      words(12), {.name = "me.wav", .text = "Something else is said here, is it not?", .most_seconds = 4},
      hears(kText), [&](const std::string& w) { remarks.push_back(w); });
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->samples.size(), words(12).size());
  EXPECT_EQ(whole->text, "Something else is said here, is it not?");
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("me.wav"), std::string::npos);
}

TEST(ReferenceRecording, IsHeardWhereNobodySaysItsWords) {
  int n_calls = 0;
  std::vector<std::string> remarks;
  const auto on_remark = [&](const std::string& w) { remarks.push_back(w); };
  const auto heard = prepare_recording(words(8), {.name = "me.wav", .text = {}, .most_seconds = 0},
                                       hears(kText, &n_calls), on_remark);
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->is_heard);
  EXPECT_EQ(heard->text, "One two three four, five six seven eight");
  EXPECT_EQ(n_calls, 1);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find(heard->text), std::string::npos);

  // A text that is given is not listened for.
  const auto given = prepare_recording(words(8), {.name = "me.wav", .text = "Mine.", .most_seconds = 0},
                                       hears(kText, &n_calls), on_remark);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->text, "Mine.");
  EXPECT_EQ(n_calls, 1);

  // Nobody there to hear it.
  const auto silent =
      prepare_recording(words(8), {.name = "me.wav", .text = {}, .most_seconds = 3}, {}, on_remark);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->samples.size(), words(8).size());
  EXPECT_TRUE(silent->text.empty());
  EXPECT_EQ(remarks.size(), 2u);
}

TEST(ReferenceRecording, LengthsAreRefusedOrRemarkedOn) {
  const auto brief =
      prepare_recording(std::vector<float>(kSpeechRateHz - 1, 0.1f), {.name = "me.wav", .text = "a"}, {}, {});
  ASSERT_FALSE(brief);
  EXPECT_EQ(brief.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(brief.error().message,
            "me.wav: 1.00 seconds are too short to know a voice by; give 3 to 10 seconds of speech");
  for (const auto& [n_words, n_remarks] : {std::pair{2, 1u}, {6, 0u}, {20, 0u}, {21, 1u}}) {
    std::vector<std::string> remarks;
    ASSERT_TRUE(prepare_recording(words(n_words), {.name = "me.wav", .text = "a"}, {},
                                  [&](const std::string& w) { remarks.push_back(w); }));
    EXPECT_EQ(remarks.size(), n_remarks) << n_words;
  }
}

TEST(ReferenceRecording, TheBeginningOfATextIsFound) {
  EXPECT_EQ(beginning_heard("Well, well. The end.", "well well"), "Well, well.");
  EXPECT_EQ(beginning_heard("Don't stop, it's fine", "dont stop"), "Don't stop,");
  EXPECT_EQ(beginning_heard("a b c d", "a x b"), "a b");
  EXPECT_EQ(beginning_heard("a b c d", "a b c d"), "a b c d");
  EXPECT_FALSE(beginning_heard("a b c d", "x y"));
  EXPECT_FALSE(beginning_heard("a b c d", ""));
  EXPECT_FALSE(beginning_heard("", "a"));
}

}  // namespace
}  // namespace parlance::test
