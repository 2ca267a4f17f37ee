// parlance bench --draft on the demo: every figure is there and can be true.
#include <gtest/gtest.h>

#include "cli/cli_run.h"

namespace parlance::test {
namespace {

const std::string kDemo = (source_root() / "models/demo").string();

TEST(BenchDrafts, EveryFigureIsThereAndCanBeTrue) {
  const auto outcome = run({"bench", "-m", kDemo, "-t", "1", "-r", "2", "-p", "0", "-n", "24", "-d", "0,200",
                            "--draft", "auto,required", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto rows = outcome.json()["runs"][0]["drafting"];
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_EQ(row["n_tokens"], 24);
    for (const char* const rate : {"tokens_per_second", "plain_tokens_per_second", "bound_tokens_per_second"})
      EXPECT_GT(row[rate].get<double>(), 0) << rate;
    EXPECT_LE(row["speed_up_min"].get<double>(), row["speed_up"].get<double>() * 1.5);
    EXPECT_GT(row["verifications"].get<int>(), 0);
    EXPECT_LE(row["accepted"].get<int>(), row["drafted"].get<int>());
    EXPECT_GE(row["tokens_a_verification"].get<double>(), row["tokens_a_step"].get<double>());
    EXPECT_GT(row["draft_share"].get<double>(), 0);
    EXPECT_GT(row["verify_share"].get<double>(), 0);
    EXPECT_LE(row["draft_share"].get<double>() + row["verify_share"].get<double>(), 1.001);
  }
  EXPECT_LT(rows[0]["depth"].get<int>(), 64);
  EXPECT_GE(rows[1]["depth"].get<int>(), 200);
}

// Alone, and with the time of the bundle's drafter.
TEST(BenchDrafts, AnOracleIsAlwaysRight) {
  for (const std::string drafter : {"none", "auto"}) {
    const auto outcome = run({"bench", "-m", kDemo, "-t", "1", "-r", "1", "-p", "0", "-n", "33", "-d", "0",
                              "--draft", drafter + ",required", "--oracle", "--draft-max", "7", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto row = outcome.json()["runs"][0]["drafting"][0];
    EXPECT_EQ(row["tokens_a_verification"], 8) << drafter;  // 32 tokens behind the first
    EXPECT_EQ(row["accepted"], row["drafted"]) << drafter;
    EXPECT_EQ(row["drafted"], 28) << drafter;
    EXPECT_EQ(row["draft_share"].get<double>() > 0, drafter == "auto");
  }
}

TEST(BenchDrafts, NothingToDraftWithIsSaid) {
  expect_error(run({"bench", "-m", kDemo + "/text/parlance-demo-text-q8_0.gguf", "-p", "0", "-n", "4", "-d",
                    "0", "-r", "1", "--draft", "none"}),
               kFailure, {"nothing drafts", "--draft"});
}

}  // namespace
}  // namespace parlance::test
