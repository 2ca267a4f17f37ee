// parlance verify, from its arguments to what it prints.
#include <fstream>

#include "cli/cli_run.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

using test::expect_error;
using test::run;

TEST(VerifyVerb, SelfTestPrintsThePublishedFigures) {
  const auto outcome = run({"verify", "self-test", "-t", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* figure : {"-2.501480", "-23.721790", "-4.822659", "3.696591", "-1.994053", "-1.438744"}) {
    EXPECT_NE(outcome.out.find(figure), std::string::npos) << figure << "\n" << outcome.out;
  }
  const auto json = run({"verify", "self-test", "-t", "1", "--json", "-"}).json();
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["figures"].size(), 6u);
}

TEST(VerifyVerb, KernelsPrintAMatrix) {
  const auto outcome = run({"verify", "kernels", "--device", "cpu", "-t", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* words :
       {"attn_score_tbq", "tbq3_tcq", "fused_attn_qjl_polar", "attention", "passed", "--fixtures"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
}

TEST(VerifyVerb, ReportsCapabilities) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  const test::TemporaryFolder folder;
  const std::string file = (folder / "report.json").string();
  const auto outcome = run({"verify", "kernels", "--device", "cpu", "-t", "2", "--fixtures",
                            (test::fixtures_root() / "kv").string(), "--json", file});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto json = test::read_json(file);
  EXPECT_EQ(json["passed"], true);
  ASSERT_EQ(json["devices"].size(), 1u);
  const auto& cpu = json["devices"][0];
  EXPECT_EQ(cpu["device"], "cpu");
  EXPECT_EQ(cpu["manifestKernelNames"],
            nlohmann::json({"turboquant_q3", "turboquant_q4", "turbo3_tcq", "qjl", "polarquant"}));
  for (const char* key : {"turbo3", "turbo4", "turbo3_tcq", "qjl_full", "polarquant"}) {
    EXPECT_EQ(cpu["capabilities"][key], true) << key;
  }
  EXPECT_FALSE(cpu["capabilities"].contains("fused_attn"));
  for (const auto& kernel : json["kernels"]) {
    for (const auto& device : kernel["devices"]) {
      EXPECT_EQ(device["runtimeStatus"], "verified") << kernel["kernel"];
      EXPECT_LE(device["maxError"], 1e-3);
      EXPECT_FALSE(device["fixtures"].empty());
    }
  }
}

TEST(VerifyVerb, AFixtureThatIsOffFails) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  const test::TemporaryFolder folder;
  auto fixture = test::read_json(test::fixtures_root() / "kv/upstream/qjl.json");
  fixture["expected_scores"][3] = 1000;
  std::ofstream(folder / "qjl.json") << fixture;
  const auto outcome =
      run({"verify", "kernels", "--device", "cpu", "-t", "2", "--fixtures", folder.path().string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("attn_score_qjl qjl1_256 on cpu scalar against qjl.json"), std::string::npos)
      << outcome.out;
}

TEST(VerifyVerb, SaysWhatIsWrong) {
  const test::TemporaryFolder folder;
  expect_error(run({"verify"}), 2, {"WHAT"});
  expect_error(run({"verify", "everything"}), 2, {"everything", "self-test"});
  expect_error(run({"verify", "self-test", "--fixtures", "x"}), 2, {"--fixtures"});
  expect_error(run({"verify", "kernels", "--fixtures", (folder / "absent").string()}), 1, {"absent"});
  expect_error(run({"verify", "kernels", "--device", "tpu"}), 1, {"tpu"});
  std::ofstream(folder / "bad.json") << R"({"schema": "kv-score-1", "cases": [{"op": 3}]})";
  expect_error(run({"verify", "kernels", "--fixtures", folder.path().string()}), 1,
               {"bad.json", "cases[0].op"});
}

}  // namespace
}  // namespace parlance
