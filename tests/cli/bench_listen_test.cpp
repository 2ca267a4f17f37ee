// parlance bench listen on the tiny pair of the fixtures: every figure is there and can be true.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/cli_run.h"
#include "measure/listen_batch.h"
#include "support/fixtures.h"

namespace parlance::test {
namespace {

std::string folder() {
  return (fixtures_root() / "asr/bundle-tiny").string();
}

TEST(BenchListen, ScriptsGrowWithTheAudio) {
  EXPECT_EQ(scripted_answer(0.3).size(), 0u);
  EXPECT_EQ(scripted_answer(30).size(), 90u);
  const std::vector<Token> shorter = scripted_answer(7), longer = scripted_answer(50);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(BenchListen, TimesARecordingAndSpeech) {
  PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
  const auto outcome =
      run({"bench", "listen", "-m", folder(), "--seconds", "2", "-t", "1", "-r", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["audio_seconds"], 2);
  const auto batch = json["runs"][0]["batch"];
  EXPECT_EQ(batch["answer_tokens"], 6);
  EXPECT_EQ(batch["audio_tokens"], 26);
  EXPECT_GT(batch["total_seconds"], 0);
  ASSERT_EQ(batch["stages"].size(), 5u);
  for (size_t i = 1; i < 5; ++i) EXPECT_GT(batch["stages"][i]["bound_seconds"], 0) << i;
  const auto live = json["runs"][0]["live"];
  EXPECT_GT(live["updates"], 0);
  EXPECT_GT(live["first_text_seconds"], 0.5);
  EXPECT_EQ(live["update_seconds"].size(), 1u);  // at one second
}

TEST(BenchListen, SaysWhatItTakes) {
  expect_error(run({"bench", "speak"}), kUsage, {"'speak'", "listen"});
  expect_error(run({"bench", "listen", "-m", "/nowhere"}), kFailure, {"/nowhere", "folder"});
}

}  // namespace
}  // namespace parlance::test
