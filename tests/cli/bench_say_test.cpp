// parlance bench say on a tiny pair: every figure is there and can be true.
#include <gtest/gtest.h>

#include "cli/cli_run.h"
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

TEST(BenchSay, TimesStepsAndCodec) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
  const TemporaryFolder folder;
  make_tiny_bundle(folder);
  const auto outcome = run({"bench", "say", "-m", folder.path().string(), "-t", "1", "-r", "2", "--case",
                            "clause", "--case", "clone", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto cases = outcome.json()["runs"][0]["cases"];
  ASSERT_EQ(cases.size(), 2u);
  for (const auto& chunk : cases) {
    ASSERT_EQ(chunk["steps"].size(), 2u);
    for (const auto& step : chunk["steps"]) {
      EXPECT_GT(step["pass_seconds"], 0);
      EXPECT_GT(step["decide_seconds"], 0);
      EXPECT_GT(step["bound_seconds"], 0);
      EXPECT_GT(step["real_time_factor"], 0);
    }
    EXPECT_LT(chunk["steps"][0]["operations"], chunk["steps"][1]["operations"]);
    EXPECT_GT(chunk["decode"]["seconds"], 0);
    EXPECT_GT(chunk["decode"]["bound_seconds"], 0);
    EXPECT_GE(chunk["decode"]["windowed_seconds"], chunk["decode"]["first_window_seconds"]);
  }
  EXPECT_EQ(cases[1]["steps"][0]["columns"], 738 + 223);  // the padding is gone
  EXPECT_EQ(cases[1]["steps"][1]["columns"], 738 + 738);  // or not
  EXPECT_DOUBLE_EQ(cases[1]["audio_seconds"], 223 * 960 / 24000.0);
  // 2 operations for each weight and column: 2 layers with q and o [64, 128], k and v [64, 64], and three
  // matrices [64, 96]; heads of 8 codebooks with 65 rows; every query and key in 2 layers of 4 heads of 32.
  const double layers = 2.0 * 2 * (2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 96) * (72 + 50);
  const double heads = 2.0 * 64 * 8 * 65 * (2 * 50);
  const double attention = 4.0 * (72 * 72 + 50 * 50) * 2 * 4 * 32;
  EXPECT_DOUBLE_EQ(cases[0]["steps"][0]["operations"], layers + heads + attention);
}

TEST(BenchSay, TimesWholeSpeechAndAnswersInParts) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
  const TemporaryFolder folder;
  make_tiny_bundle(folder);
  const auto outcome = run({"bench", "say", "-m", folder.path().string(), "-t", "1", "-r", "1", "--case",
                            "referenced", "--case", "answer", "--quality", "standard", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto cases = outcome.json()["runs"][0]["whole"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_NEAR(cases[0]["audio_seconds"], 6.52, 0.04);
  EXPECT_NEAR(cases[1]["audio_seconds"], 10, 2);
  for (const auto& speech : cases) {
    EXPECT_GT(speech["passes"], 0);
    EXPECT_GT(speech["first_sound_seconds"], 0);
    EXPECT_GE(speech["real_time_factor"].get<double>() * speech["audio_seconds"].get<double>(),
              speech["model_seconds"].get<double>());
  }
  EXPECT_GT(cases[1]["passes"], cases[0]["passes"]);  // its first part is one more
}

TEST(BenchSay, SaysWhatItTakes) {
  expect_error(run({"bench", "speak"}), kUsage, {"'speak'", "listen", "say"});
  expect_error(run({"bench", "say", "-m", "/nowhere"}), kFailure, {"/nowhere", "folder"});
  expect_error(run({"bench", "say", "--case", "opera"}), kUsage, {"--case", "'opera'", "sentence"});
  expect_error(run({"bench", "say", "--guidance-mask", "loud"}), kUsage, {"'loud'", "hard", "soft"});
}

}  // namespace
}  // namespace parlance::test
