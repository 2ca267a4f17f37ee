// parlance eval vad, from its arguments to what it prints.
#include <fstream>

#include "cli/cli_run.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

class EvalVadTest : public testing::Test {
 protected:
  std::string set() const { return folder_.path().string(); }
  void write_labels(const std::string& text) const { std::ofstream(folder_ / "labels.jsonl") << text; }

  TemporaryFolder folder_;
};

TEST_F(EvalVadTest, ScoresRecordings) {
  PARLANCE_REQUIRE_FIXTURES("vad/events.json");
  PARLANCE_REQUIRE_FIXTURES("../data");
  for (const char* name : {"jfk.wav", "noise_tones.wav"})
    std::filesystem::copy_file(fixtures_root() / "vad" / name, folder_ / name);
  write_labels(R"({"audio": "jfk.wav", "speech": [[0.3, 10.6]], "snr_db": 20})"
               "\n\n"
               R"({"audio": "noise_tones.wav", "speech": [], "snr_db": null})"
               "\n");
  const std::string weights = (fixtures_root() / "../data/silero_vad_16k.safetensors").string();
  const auto json = run({"eval", "vad", "--set", set(), "--vad", weights, "--json", "--windows"}).json();
  EXPECT_GT(json["all"]["auc"], 0.9);
  EXPECT_EQ(json["all"]["turns"], 1);
  EXPECT_EQ(json["all"]["missed_turns"], 0);
  EXPECT_EQ(json["false_alarms"], 0);
  EXPECT_EQ(json["by_snr_db"].size(), 1u);
  EXPECT_EQ(json["by_snr_db"]["20"]["recordings"], 1);
  EXPECT_EQ(json["windows"]["jfk.wav"].size(), 344u);
  const Outcome table = run({"eval", "vad", "--set", set(), "--vad", weights});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("20 dB"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("false alarms in"), std::string::npos) << table.out;
}

TEST_F(EvalVadTest, SaysWhatIsWrong) {
  expect_error(run({"eval", "vad", "--set", set(), "--windows"}), kUsage, {"--windows", "--json"});
  expect_error(run({"eval", "vad", "--set", set()}), kFailure, {"labels.jsonl"});
  const auto expect_refused = [&](const std::string& line, const std::string& words) {
    write_labels("{\"audio\": \"a.wav\", \"speech\": []}\n" + line + "\n");
    expect_error(run({"eval", "vad", "--set", set()}), kFailure, {"labels.jsonl:2", words});
  };
  expect_refused("{", "JSON");
  expect_refused(R"({"speech": []})", "\"audio\"");
  expect_refused(R"({"audio": "a.wav"})", "\"speech\"");
  expect_refused(R"({"audio": "a.wav", "speech": [[1]]})", "[start, end]");
  expect_refused(R"({"audio": "a.wav", "speech": [[2, 1]]})", "[start, end]");
  expect_refused(R"({"audio": "a.wav", "speech": [["0", 1]]})", "[start, end]");
  expect_refused(R"({"audio": "a.wav", "speech": [[0, 2], [1, 3]]})", "overlap");
  write_labels("\n");
  expect_error(run({"eval", "vad", "--set", set()}), kFailure, {"no recordings"});
}

}  // namespace
}  // namespace parlance::test
