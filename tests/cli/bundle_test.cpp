// parlance bundle, and verbs that load from bundles, from their arguments to what they print.
#include "bundle/support/tiny_bundle.h"
#include "cli/cli_run.h"
#include "support/json_file.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::Outcome;
using test::run;

class BundleVerb : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_files(folder_.path());
    test::write_tiny_model(folder_ / "text/model.gguf");
    test::write_tiny_manifest(folder_.path());
  }
  Outcome bundle(const std::string& what, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"bundle", what, folder_.path().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  void damage(const std::string& name) const {
    std::string bytes = test::read_text(folder_ / name);
    bytes.back() ^= 1;
    test::write_bytes(folder_ / name, bytes);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(BundleVerb, VerifiesAndFails) {
  const Outcome good = bundle("verify");
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("All 10 files"), std::string::npos) << good.out;
  damage("asr/words.gguf");
  const Outcome bad = bundle("verify");
  EXPECT_EQ(bad.code, 1);
  for (const char* words : {"BAD", "1 thing is wrong", "asr/words.gguf: its SHA-256 is"}) {
    EXPECT_NE(bad.out.find(words), std::string::npos) << words << "\n" << bad.out;
  }
  const Outcome json = bundle("verify", {"--json"});
  EXPECT_EQ(json.code, 1);
  const auto report = json.json();
  EXPECT_EQ(report["passed"], false);
  int n_bad = 0;
  for (const auto& file : report["files"]) n_bad += file["passed"] ? 0 : 1;
  EXPECT_EQ(n_bad, 1);
}

TEST_F(BundleVerb, Shows) {
  const Outcome outcome = bundle("show");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"eliza-1-demo 0.1.0", "text/model.gguf", "qwen3", "MIT", "random weights"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  EXPECT_EQ(bundle("show", {"--json"}).json()["id"], "eliza-1-demo");
}

TEST_F(BundleVerb, MakesAgainAfterAChange) {
  damage("text/model.gguf");
  expect_error(run({"chat", "-m", folder_.path().string(), "-p", "Hello", "-n", "2"}), 1,
               {"text/model.gguf", "SHA-256", "parlance bundle make"});
  const Outcome made = bundle("make", {"--version", "0.1.1"});
  EXPECT_EQ(made.code, 0) << made.out << made.err;
  EXPECT_EQ(test::read_json(folder_.path() / kManifestName)["version"], "0.1.1");
  const Outcome answered = run({"chat", "-m", folder_.path().string(), "-p", "Hello", "-n", "2"});
  EXPECT_EQ(answered.code, 0) << answered.err;
}

TEST_F(BundleVerb, VerbsTakeTheirModelsFromIt) {
  const std::string folder = folder_.path().string();
  EXPECT_EQ(run({"chat", "-m", folder, "-p", "Hello", "-n", "2", "--json"}).code, 0);
  damage("tts/z.gguf");
  expect_error(run({"say", "-m", folder, "-o", (folder_ / "a.wav").string(), "Hello."}), 1,
               {"tts/z.gguf", "SHA-256"});
  damage("asr/sound.gguf");
  test::write_bytes(folder_ / "a.raw", std::string(32000, '\0'));
  expect_error(run({"listen", "-m", folder, (folder_ / "a.wav").string()}), 1, {"a.wav"});
}

TEST_F(BundleVerb, RefusesABundleForOtherMachines) {
  test::change_manifest(folder_.path(), [](auto& m) { m["kernels"]["required"] = {"warp_drive"}; });
  expect_error(run({"chat", "-m", folder_.path().string(), "-p", "Hello"}), 1,
               {"kernels.required", "warp_drive"});
  const Outcome outcome = bundle("verify");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("kernel warp_drive is required, and not here"), std::string::npos)
      << outcome.out;
}

TEST_F(BundleVerb, SaysWhatIsWrong) {
  expect_error(run({"bundle"}), 2, {"WHAT"});
  expect_error(run({"bundle", "eat", "x"}), 2, {"eat", "verify"});
  expect_error(run({"bundle", "make"}), 2, {"FOLDER"});
  expect_error(bundle("show", {"--version", "1.0.0"}), 2, {"bundle make"});
  expect_error(bundle("make", {"--version", "one"}), 1, {"version", "1.0.0"});
  expect_error(run({"bundle", "verify", (folder_ / "absent").string()}), 1, {"absent"});
  expect_error(run({"bundle", "make", (folder_ / "cache").string()}), 1, {"--from"});
}

}  // namespace
}  // namespace parlance
