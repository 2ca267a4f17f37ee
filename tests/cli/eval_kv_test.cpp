// `parlance eval kv`: which ways of keeping keys and values are compared, on a model and a text of one's own.
#include <fstream>

#include "base/os/environment_variable.h"
#include "cli/cli_run.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class EvalKv : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf", {.n_embd = 128, .n_layer = 2});
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < 100; ++i) text << "some words, and more of them: " << i * i << "\n";
  }
  test::Outcome eval(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"eval",
                                          "kv",
                                          (folder_ / "tiny.gguf").string(),
                                          "--text",
                                          (folder_ / "text.txt").string(),
                                          "-t",
                                          "2",
                                          "--ctx-size",
                                          "256",
                                          "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run(arguments);
  }

  const test::TemporaryFolder folder_;
  const EnvironmentVariable cache_folder_{"XDG_CACHE_HOME", folder_.path().string()};
};

TEST_F(EvalKv, ComparesTheCasesThatAreNamed) {
  const auto outcome = eval({"--case", "--cache balanced", "--case", "-ctk tbq3_0 -ctv tbq3_0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = outcome.json();
  const auto& results = report["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["options"], "-ctk f16 -ctv f16");
  EXPECT_EQ(results[0]["kl_mean"], 0.0);
  EXPECT_EQ(results[1]["options"], "-ctk tbq3_0 -ctv tbq3_0");
  EXPECT_EQ(results[1]["bits_per_value"], 3.5);
  EXPECT_EQ(results[2]["options"], "--cache balanced");
  EXPECT_LE(results[2]["bits_per_value"], 5.0);
  EXPECT_LT(results[2]["kl_mean"], results[1]["kl_mean"]);
}

TEST_F(EvalKv, NamesTheCasesThatThereAre) {
  test::expect_error(eval({"--case", "--cache tiny"}), 1,
                     {"--cache tiny", "--cache balanced", "-ctk q8_0 -ctv q8_0"});
}

}  // namespace
}  // namespace parlance
