// Manifests that are written.
#include "bundle/make.h"

#include "base/parameter.h"
#include "bundle/sha256.h"
#include "bundle/support/tiny_bundle.h"
#include "support/json_file.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class MakeTest : public testing::Test {
 protected:
  void SetUp() override { test::write_tiny_files(folder_.path()); }

  Result<std::string> make(const json& about, MakeOptions options = {}) const {
    test::write_bytes(elsewhere_ / "about.json", about.dump());
    options.description = elsewhere_ / "about.json";
    return make_manifest(folder_.path(), options);
  }
  void expect_refused(const Result<std::string>& made, std::initializer_list<std::string> words) const {
    ASSERT_FALSE(made);
    for (const std::string& word : words) {
      EXPECT_NE(made.error().message.find(word), std::string::npos)
          << "no '" << word << "' in: " << made.error().message;
    }
  }

  const test::TemporaryFolder folder_, elsewhere_;
};

TEST_F(MakeTest, FindsEveryModel) {
  const auto text = make(test::tiny_description());
  ASSERT_TRUE(text) << text.error().message;
  const auto manifest = parse_manifest("m", *text);
  ASSERT_TRUE(manifest) << manifest.error().message;
  ASSERT_EQ(manifest->files_of("text").size(), 1u);
  EXPECT_EQ(manifest->files_of("text")[0].ctx, 512);
  EXPECT_EQ(manifest->files_of("text")[0].sha256, digest_of_file(folder_ / "text/model.gguf")->sha256);
  ASSERT_EQ(manifest->files_of("asr").size(), 4u);
  EXPECT_EQ(manifest->files_of("asr")[3].path, "asr/words.gguf");
  EXPECT_EQ(manifest->files_of("asr")[3].ctx, 0);
  EXPECT_EQ(manifest->files_of("voice").size(), 2u);
  EXPECT_EQ(manifest->files_of("dflash").size(), 1u);
  EXPECT_EQ(manifest->files_of("cache").size(), 2u);
  EXPECT_NE(manifest->find_group("vision"), nullptr);
  EXPECT_EQ(manifest->find_group("wakeword"), nullptr);
}

TEST_F(MakeTest, TheSameFilesGiveTheSameBytes) {
  json about = test::tiny_description();
  about["later"] = {{"z", 1}, {"a", 2}};
  const auto once = make(about), twice = make(about);
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(*once, *twice);
  EXPECT_NE(once->find("\"later\""), std::string::npos);
  // Written down, it describes itself.
  test::write_bytes(folder_ / std::string(kManifestName), *once);
  const auto again = make_manifest(folder_.path(), {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *once);
}

TEST_F(MakeTest, OptionsOverrideTheDescription) {
  json about = test::tiny_description();
  about.erase("tier");
  const auto text = make(about, {.id = "eliza-1-demo",
                                 .tier = {},
                                 .version = "2.0.0",
                                 .published_at = "2026-11-23T00:00:00Z",
                                 .description = {}});
  ASSERT_TRUE(text) << text.error().message;
  const auto manifest = parse_manifest("m", *text);
  EXPECT_EQ(manifest->tier, "demo");
  EXPECT_EQ(manifest->version, "2.0.0");
  EXPECT_EQ(manifest->published_at, "2026-11-23T00:00:00Z");
}

TEST_F(MakeTest, SaysWhatIsMissing) {
  expect_refused(make_manifest(folder_ / "absent", {}), {"not a folder"});
  expect_refused(make_manifest(folder_.path(), {}), {mark_of(Parameter::manifest_source, "FILE")});
  expect_refused(make(json::array()), {"about.json", "JSON object"});
  json about = test::tiny_description();
  about["lineage"].erase("asr");
  expect_refused(make(about), {"lineage.asr"});
  about.erase("publishedAt");
  expect_refused(make(about), {"publishedAt"});
  fs::remove(folder_ / "text/model.gguf");
  expect_refused(make(test::tiny_description()), {"files.text", "at least one"});
  test::write_bytes(folder_ / "text/model.gguf", "no GGUF");
  expect_refused(make(test::tiny_description()), {"model.gguf", "GGUF"});
}

TEST_F(MakeTest, TakesNoFileFromOutside) {
  test::write_bytes(elsewhere_ / "a.gguf", "x");
  fs::create_symlink(elsewhere_ / "a.gguf", folder_ / "asr/a.gguf");
  expect_refused(make(test::tiny_description()), {"asr/a.gguf", "link"});
  fs::remove(folder_ / "asr/a.gguf");
  test::write_bytes(folder_ / "asr/a:b.gguf", "x");
  expect_refused(make(test::tiny_description()), {"a:b.gguf", "rename"});
}

}  // namespace
}  // namespace parlance
