// What is found wrong with a whole bundle.
#include "bundle/verify.h"

#include "bundle/bundle.h"
#include "bundle/support/tiny_bundle.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override { test::write_tiny_bundle(folder_.path()); }

  BundleReport verify() const {
    auto report = verify_bundle(folder_.path());
    EXPECT_TRUE(report) << report.error().message;
    return report ? *std::move(report) : BundleReport();
  }
  static const FileReport& file(const BundleReport& report, const std::string& path) {
    for (const FileReport& file : report.files) {
      if (file.said.path == path) return file;
    }
    ADD_FAILURE() << path << " is not in the report";
    return report.files.front();
  }

  const test::TemporaryFolder folder_;
};

TEST_F(VerifyTest, AGoodBundle) {
  const BundleReport report = verify();
  EXPECT_TRUE(report.has_passed());
  EXPECT_TRUE(report.warnings.empty()) << report.warnings.front();
  EXPECT_EQ(report.files.size(), 10u);
  for (const FileReport& entry : report.files) {
    EXPECT_EQ(entry.found_sha256, entry.said.sha256);
    EXPECT_GT(entry.n_bytes, 0u);
    ASSERT_TRUE(entry.content) << entry.said.path;
  }
  EXPECT_EQ(file(report, "text/model.gguf").content->kind, "qwen3");
  EXPECT_EQ(file(report, "text/model.gguf").content->n_parameters, 32);
  EXPECT_EQ(file(report, "cache/voice-preset-anna.bin").content->kind, "voice preset");
  EXPECT_GT(report.memory_bytes, 0u);
}

TEST_F(VerifyTest, TheDetectorIsReadAsOne) {
  PARLANCE_REQUIRE_FIXTURES("../data");
  fs::create_directories(folder_ / "vad");
  fs::copy_file(test::fixtures_root().parent_path() / "data" / "silero_vad_16k.safetensors",
                folder_ / "vad/detector.safetensors");
  test::write_tiny_manifest(folder_.path());
  EXPECT_TRUE(verify().has_passed());
  const auto bundle = open_bundle(folder_.path(), {.vad = Need::must});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->vad, folder_ / "vad/detector.safetensors");
  test::write_bytes(folder_ / "vad/detector.safetensors", "no weights");
  test::write_tiny_manifest(folder_.path());
  EXPECT_NE(file(verify(), "vad/detector.safetensors").problem, "");
}

TEST_F(VerifyTest, NamesFilesThatAreMissingOrDamaged) {
  fs::remove(folder_ / "asr/words.gguf");
  test::write_bytes(folder_ / "text/model.gguf", "GGUF, and nothing more");
  const BundleReport report = verify();
  EXPECT_FALSE(report.has_passed());
  EXPECT_NE(file(report, "asr/words.gguf").problem.find("cannot be found"), std::string::npos);
  const FileReport& damaged = file(report, "text/model.gguf");
  EXPECT_NE(damaged.problem.find("SHA-256"), std::string::npos);
  EXPECT_FALSE(damaged.content);  // not opened
  EXPECT_EQ(file(report, "tts/z.gguf").problem, "");
}

TEST_F(VerifyTest, OpensWhatHasItsChecksum) {
  test::write_bytes(folder_ / "asr/words.gguf", "GGUF, and nothing more");
  test::write_bytes(folder_ / "dflash/drafter.gguf", "something");
  test::write_bytes(folder_ / "cache/voice-preset-anna.bin", "something");
  test::write_tiny_manifest(folder_.path());
  const BundleReport report = verify();
  for (const char* path : {"asr/words.gguf", "dflash/drafter.gguf", "cache/voice-preset-anna.bin"}) {
    EXPECT_NE(file(report, path).problem, "") << path;
    EXPECT_EQ(file(report, path).found_sha256, file(report, path).said.sha256);
  }
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
}

TEST_F(VerifyTest, WarnsOfFilesThatNobodyNames) {
  test::write_bytes(folder_ / "text/new.gguf", "x");
  test::write_bytes(folder_ / "cache/voice-preset-me.bin", "x");
  test::write_bytes(folder_ / "text/eval.jsonl", "x");
  test::write_bytes(folder_ / "licenses/other", "x");
  const BundleReport report = verify();
  EXPECT_TRUE(report.has_passed());
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_TRUE(report.warnings[0].starts_with("cache/voice-preset-me.bin: "));
  EXPECT_TRUE(report.warnings[1].starts_with("text/new.gguf: "));
}

TEST_F(VerifyTest, ContextsAndVocabulariesMustFit) {
  test::change_manifest(folder_.path(), [](auto& m) { m["files"]["text"][0]["ctx"] = 4096; });
  EXPECT_NE(file(verify(), "text/model.gguf").problem.find("512"), std::string::npos);
  test::write_gguf(folder_ / "text/model.gguf", "qwen3", 512, {"a", "b"});
  test::write_gguf(folder_ / "dflash/drafter.gguf", "qwen3", 512, {"a", "b", "c"});
  test::write_tiny_manifest(folder_.path());
  const BundleReport report = verify();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("dflash/drafter.gguf: a vocabulary of 3"), std::string::npos);
}

TEST_F(VerifyTest, TellsOfTheMachine) {
  test::change_manifest(folder_.path(), [](auto& m) {
    m["kernels"]["required"] = {"warp_drive"};
    m["kernels"]["optional"] = {"qjl"};
    m["ramBudgetMb"] = {{"min", 900000000}, {"recommended", 900000000}};
  });
  const BundleReport report = verify();
  EXPECT_EQ(report.problems.size(), 2u);
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_TRUE(report.kernels[0].is_required && !report.kernels[0].is_offered);
  EXPECT_TRUE(!report.kernels[1].is_required && report.kernels[1].is_offered);
}

TEST_F(VerifyTest, DescribingLooksAtNoChecksum) {
  test::change_manifest(folder_.path(),
                        [](auto& m) { m["files"]["text"][0]["sha256"] = test::some_sha256(); });
  const auto report = describe_bundle(folder_.path());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(file(*report, "text/model.gguf").content->kind, "qwen3");
  EXPECT_EQ(file(*report, "text/model.gguf").found_sha256, "");
}

TEST_F(VerifyTest, WithoutAManifestThereIsNothingToVerify) {
  fs::remove(folder_ / std::string(kManifestName));
  const auto report = verify_bundle(folder_.path());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::not_found);
  EXPECT_NE(report.error().message.find("parlance bundle make"), std::string::npos);
}

}  // namespace
}  // namespace parlance
