#include "tts/pace_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tts/audio/speech_format.h"
#include "tts/text/syllables.h"

namespace parlance::test {
namespace {

TEST(Syllables, AreCounted) {
  EXPECT_EQ(count_syllables(""), 0);
  EXPECT_EQ(count_syllables("The boat came home late."), 8);  // e at an end counts
  EXPECT_EQ(count_syllables("Wiederhören, schön"), 5);
  EXPECT_EQ(count_syllables("你好世界"), 4);
  EXPECT_EQ(count_syllables("привет"), 2);
  EXPECT_EQ(count_syllables("in 2026"), 9);
}

TEST(PaceCheck, KnowsWhatIsFarOff) {
  PaceCheck check;
  EXPECT_FALSE(check.is_off(20, 100)) << "there is nothing to compare with";
  check.accept(20, 4);
  EXPECT_FALSE(check.is_off(20, 4));
  EXPECT_FALSE(check.is_off(20, 6));
  EXPECT_TRUE(check.is_off(20, 7));
  EXPECT_FALSE(check.is_off(20, 2.6));
  EXPECT_TRUE(check.is_off(20, 2.4));
  EXPECT_FALSE(check.is_off(3, 100)) << "too few syllables to say";
}

// One chunk that went wrong does not make the next ones wrong.
TEST(PaceCheck, GoesByTheMiddleOfTheLastThree) {
  PaceCheck check;
  check.accept(10, 2);
  check.accept(10, 2.2);
  check.accept(10, 8);
  EXPECT_FALSE(check.is_off(10, 2.2));
  EXPECT_TRUE(check.is_off(10, 8));
}

TEST(PaceCheck, HearsSpeechWithoutItsPauses) {
  std::vector<float> samples(static_cast<size_t>(speech_samples(500)), 0.0f);
  for (int i = 0; i < speech_samples(1000); ++i)
    samples.push_back(0.3f * std::sin(0.1f * static_cast<float>(i)));
  samples.insert(samples.end(), static_cast<size_t>(speech_samples(800)), 0.0f);
  for (int i = 0; i < speech_samples(500); ++i)
    samples.push_back(0.3f * std::sin(0.1f * static_cast<float>(i)));
  EXPECT_NEAR(heard_seconds(samples), 1.5, 0.05);
  EXPECT_EQ(heard_seconds(std::vector<float>(24000, 0.0f)), 0);
}

}  // namespace
}  // namespace parlance::test
