// parlance bench serve on the bundled models: every figure is there and can be true.
#include <gtest/gtest.h>

#include "cli/cli_run.h"

namespace parlance::test {
namespace {

TEST(BenchServe, TimesThoseWhoWriteAndThoseWhoTalk) {
  const auto outcome = run(
      {"bench", "serve", "-p", "16", "-n", "8", "--clients", "1,3", "--sessions", "1", "-r", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto result = outcome.json();
  EXPECT_EQ(result["prompt_tokens"], 16);
  const auto answers = result["runs"][0]["answers"], talks = result["runs"][0]["talks"];
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& row : answers) {
    EXPECT_EQ(row["failed"], 0) << row["first_failure"];
    EXPECT_GT(row["tokens_per_second"], 0);
    EXPECT_NEAR(row["tokens_per_second"].get<double>() / row["answers_per_second"].get<double>(), 8, 1e-6);
    EXPECT_GT(row["first_words_ms"]["median"], 0);
    EXPECT_GE(row["first_words_ms"]["most"], row["first_words_ms"]["median"]);
  }
  ASSERT_EQ(talks.size(), 1u);
  EXPECT_EQ(talks[0]["failed"], 0) << talks[0]["first_failure"];
  EXPECT_EQ(talks[0]["turns"], 1);
  EXPECT_GT(talks[0]["first_sound_ms"]["median"], 0);
}

TEST(BenchServe, SaysWhatItTakes) {
  expect_error(run({"bench", "serve", "--clients", "0"}), kUsage, {"--clients", "0"});
  expect_error(run({"bench", "serve", "-p", "0"}), kUsage, {"-p", "a token or more"});
  expect_error(run({"bench", "serve", "-p", "100000", "--clients", "1", "--sessions", "0"}), kFailure,
               {"100000", "context"});
  expect_error(run({"bench", "serve", "-m", "/nowhere"}), kFailure, {"/nowhere"});
}

}  // namespace
}  // namespace parlance::test
