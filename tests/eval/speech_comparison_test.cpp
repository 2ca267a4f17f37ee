#include "eval/speech_comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/second_judge.h"

namespace parlance::test {
namespace {

SpokenOnce with_errors(size_t n_errors, double likeness) {
  SpokenOnce one;
  one.errors = {.substitutions = n_errors, .n_words = 10};
  one.likeness = likeness;
  one.audio_s = 2;
  one.synthesis_s = 1;
  one.n_columns = 300;
  return one;
}

TEST(Bootstrap, IsNarrowWhereAllTextsAgree) {
  const Interval none = bootstrap(50, [](std::span<const size_t>) { return 3.5; });
  EXPECT_EQ(none.low, 3.5);
  EXPECT_EQ(none.high, 3.5);
  // The mean of 0 and 1 alike often: the normal approximation has 0.5 +- 1.96 * 0.5 / sqrt(400).
  const Interval half = bootstrap(400, [](std::span<const size_t> drawn) {
    double sum = 0;
    for (const size_t i : drawn) sum += static_cast<double>(i % 2);
    return sum / static_cast<double>(drawn.size());
  });
  EXPECT_NEAR(half.low, 0.5 - 0.049, 0.008);
  EXPECT_NEAR(half.high, 0.5 + 0.049, 0.008);
}

// Errors differ much from text to text, but alike in both ways: the difference is sure all the same.
TEST(SpeechComparison, PairsTexts) {
  std::vector<std::vector<SpokenOnce>> ways(2);
  for (size_t i = 0; i < 100; ++i) {
    ways[0].push_back(with_errors(i % 8, 0.9));
    ways[1].push_back(with_errors(i % 8 + 1, 0.8));
  }
  const auto scores = compare_ways(ways);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_FALSE(scores[0].points);
  EXPECT_NEAR(scores[1].points->value, 10, 1e-9);
  EXPECT_NEAR(scores[1].points->interval.low, 10, 1e-9);
  EXPECT_NEAR(scores[1].points->interval.high, 10, 1e-9);
  EXPECT_NEAR(scores[1].likeness_lost->value, -0.1, 1e-9);
  EXPECT_NEAR(scores[1].real_time_factor, 0.5, 1e-9);
  EXPECT_NEAR(scores[1].columns_per_second, 150, 1e-9);
  EXPECT_FALSE(scores[1].other_points);
}

TEST(SpeechComparison, CountsEqualCodes) {
  const AudioCodes a{.n_codebook = 2, .codes = {1, 2, 3, 4, 5, 6}},
      b{.n_codebook = 2, .codes = {1, 2, 9, 4, 0, 0}},
      longer{.n_codebook = 2, .codes = {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_DOUBLE_EQ(*share_of_equal_codes(a, b, 2), 0.5);
  EXPECT_DOUBLE_EQ(*share_of_equal_codes(a, b, 1), 2.0 / 3);
  EXPECT_FALSE(share_of_equal_codes(a, longer, 2));
}

TEST(SpeechComparison, MeasuresDecibels) {
  std::vector<float> loud(16000), quiet(16000);
  for (size_t i = 0; i < loud.size(); ++i) {
    loud[i] =
        std::sin(0.3f * static_cast<float>(i)) + 0.3f * std::sin(0.041f * static_cast<float>(i * i % 4001));
    quiet[i] = loud[i] / 10;
  }
  EXPECT_EQ(*mel_distance_db(loud, loud), 0);
  EXPECT_NEAR(*mel_distance_db(loud, quiet), 20, 2);
  EXPECT_FALSE(mel_distance_db(loud, std::span(quiet).first(100)));
}

TEST(SecondJudge, AnswersAreTextBeforeTheirNumbers) {
  EXPECT_EQ(text_of_answer("hello there (0001 -12345)"), "hello there");
  EXPECT_EQ(text_of_answer(" (0001 -12345)"), "");
  EXPECT_EQ(text_of_answer(""), "");
}

}  // namespace
}  // namespace parlance::test
