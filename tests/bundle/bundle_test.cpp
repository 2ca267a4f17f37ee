// Which files are handed out, and which are not.
#include "bundle/bundle.h"

#include "bundle/requirements.h"
#include "bundle/support/tiny_bundle.h"
#include "support/json_file.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

constexpr BundleNeeds kEverything = {.text = Need::must,
                                     .asr = Need::must,
                                     .aligner = Need::must,
                                     .tts = Need::must,
                                     .vad = Need::may,
                                     .drafter = Need::must};

class BundleTest : public testing::Test {
 protected:
  void SetUp() override { test::write_tiny_bundle(folder_.path()); }

  void expect_refused(const BundleNeeds& needs, ErrorCode code, std::initializer_list<std::string> words,
                      const fs::path& folder = {}) const {
    const auto bundle = open_bundle(folder.empty() ? folder_.path() : folder, needs);
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, code) << bundle.error().message;
    for (const std::string& word : words) {
      EXPECT_NE(bundle.error().message.find(word), std::string::npos)
          << "no '" << word << "' in: " << bundle.error().message;
    }
  }

  const test::TemporaryFolder folder_;
};

TEST_F(BundleTest, FilesAreKnownByWhatIsInThem) {
  const auto bundle = open_bundle(folder_.path(), kEverything);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->id, "eliza-1-demo");
  EXPECT_EQ(bundle->text, folder_ / "text/model.gguf");
  EXPECT_EQ(bundle->asr_text, folder_ / "asr/words.gguf");
  EXPECT_EQ(bundle->asr_encoder, folder_ / "asr/sound.gguf");
  EXPECT_EQ(bundle->aligner_text, folder_ / "asr/aligner-words.gguf");
  EXPECT_EQ(bundle->aligner_encoder, folder_ / "asr/aligner-sound.gguf");
  EXPECT_EQ(bundle->tts_base, folder_ / "tts/z.gguf");
  EXPECT_EQ(bundle->tts_codec, folder_ / "tts/codec/a.gguf");
  EXPECT_EQ(bundle->drafter, folder_ / "dflash/drafter.gguf");
  EXPECT_EQ(bundle->vad, fs::path());
  ASSERT_EQ(bundle->voices.size(), 2u);
  EXPECT_EQ(bundle->voices[0], folder_ / "cache/voice-preset-anna.bin");
}

TEST_F(BundleTest, AFolderOfItIsEnough) {
  const auto bundle = open_bundle(folder_ / "asr/", {.asr = Need::must});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_TRUE(fs::equivalent(bundle->folder, folder_.path()));
  EXPECT_TRUE(bundle->text.empty());
  EXPECT_EQ(bundle_with_manifest(folder_ / "absent"), fs::path());
  EXPECT_EQ(bundle_with_manifest(folder_ / "tts/codec"), fs::path());
  EXPECT_EQ(bundle_with_manifest(""), fs::path());
}

TEST_F(BundleTest, ADamagedFileIsRefusedByWhoUsesIt) {
  const fs::path file = folder_ / "asr/sound.gguf";
  std::string bytes = test::read_text(file);
  bytes[bytes.size() - 1] ^= 1;
  test::write_bytes(file, bytes);
  expect_refused({.asr = Need::must}, ErrorCode::corrupt_file, {"sound.gguf", "SHA-256", "copy the bundle"});
  expect_refused({.asr = Need::may}, ErrorCode::corrupt_file, {"sound.gguf"});
  EXPECT_TRUE(open_bundle(folder_.path(), {.text = Need::must, .tts = Need::must}));
}

TEST_F(BundleTest, EveryUsedFileIsChecked) {
  for (const char* name : {"text/model.gguf", "asr/words.gguf", "asr/aligner-words.gguf", "tts/z.gguf",
                           "tts/codec/a.gguf", "dflash/drafter.gguf", "cache/voice-preset-anna.bin"}) {
    const std::string bytes = test::read_text(folder_ / name);
    test::write_bytes(folder_ / name, bytes + "x");
    expect_refused(kEverything, ErrorCode::corrupt_file, {name, "SHA-256"});
    fs::remove(folder_ / name);
    expect_refused(kEverything, ErrorCode::not_found, {name, "copy the bundle"});
    test::write_bytes(folder_ / name, bytes);
  }
  EXPECT_TRUE(open_bundle(folder_.path(), kEverything));
}

TEST_F(BundleTest, NoLinkLeadsOut) {
  const test::TemporaryFolder outside;
  fs::rename(folder_ / "text/model.gguf", outside / "model.gguf");
  fs::create_symlink(outside / "model.gguf", folder_ / "text/model.gguf");
  expect_refused({.text = Need::must}, ErrorCode::invalid_argument, {"link", "text/model.gguf"});
  fs::remove_all(folder_ / "text");
  fs::create_directory_symlink(outside.path(), folder_ / "text");
  expect_refused({.text = Need::must}, ErrorCode::invalid_argument, {"link"});
  // Within the bundle they may.
  fs::remove(folder_ / "text");
  fs::create_directories(folder_ / "text");
  fs::copy_file(outside / "model.gguf", folder_ / "kept.gguf");
  fs::create_symlink("../kept.gguf", folder_ / "text/model.gguf");
  EXPECT_TRUE(open_bundle(folder_.path(), {.text = Need::must}));
  fs::remove(folder_ / "text/model.gguf");
  fs::create_directories(folder_ / "text/model.gguf");
  expect_refused({.text = Need::must}, ErrorCode::invalid_argument, {"regular file"});
}

TEST_F(BundleTest, KernelsThatAreNotHereAreNamed) {
  test::change_manifest(folder_.path(), [](auto& m) { m["kernels"]["required"] = {"qjl", "warp_drive"}; });
  expect_refused({.text = Need::must}, ErrorCode::unsupported,
                 {"kernels.required", "warp_drive", "polarquant", "newer version"});
  test::change_manifest(folder_.path(), [](auto& m) {
    m["kernels"]["required"] = {"turboquant_q3", "turboquant_q4", "turbo3_tcq", "qjl", "polarquant"};
    m["kernels"]["optional"] = {"warp_drive"};
  });
  EXPECT_TRUE(open_bundle(folder_.path(), {.text = Need::must}));
}

TEST_F(BundleTest, MemoryIsComparedWithTheMachine) {
  test::change_manifest(folder_.path(), [](auto& m) {
    m["ramBudgetMb"] = {{"min", 900000000}, {"recommended", 900000000}};
  });
  expect_refused({.text = Need::must}, ErrorCode::out_of_memory, {"ramBudgetMb.min", "900000000 MB"});
  Manifest manifest;
  manifest.ram_min_mb = 100;
  EXPECT_TRUE(check_memory("m", manifest, size_t{100} << 20));
  EXPECT_FALSE(check_memory("m", manifest, (size_t{100} << 20) - 1));
  EXPECT_TRUE(check_memory("m", manifest, 0));  // not known
}

TEST_F(BundleTest, ModelsThatAreNotThereAreMissedByWhoMustHaveThem) {
  expect_refused({.vad = Need::must}, ErrorCode::not_found, {"voice detector", "files.vad"});
  for (const char* group : {"asr", "voice", "dflash"}) {
    test::change_manifest(folder_.path(), [&](auto& m) { m["files"][group] = nlohmann::json::array(); });
  }
  expect_refused({.asr = Need::must}, ErrorCode::not_found, {"speech recognition", "files.asr"});
  expect_refused({.aligner = Need::must}, ErrorCode::not_found, {"aligner", "files.asr"});
  expect_refused({.tts = Need::must}, ErrorCode::not_found, {"speech model", "files.voice"});
  expect_refused({.drafter = Need::must}, ErrorCode::not_found, {"drafter", "files.dflash"});
  const auto bundle = open_bundle(
      folder_.path(),
      {.text = Need::may, .asr = Need::may, .tts = Need::may, .vad = Need::may, .drafter = Need::may});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_TRUE(bundle->asr_text.empty() && bundle->tts_base.empty() && bundle->drafter.empty());
}

TEST_F(BundleTest, PairsMustBePairs) {
  test::write_gguf(folder_ / "asr/third.gguf", "clip");
  test::write_tiny_manifest(folder_.path());
  expect_refused({.asr = Need::must}, ErrorCode::corrupt_file,
                 {"files.asr", "one audio encoder", "asr/sound.gguf (clip)", "asr/third.gguf (clip)"});
  fs::remove(folder_ / "tts/codec/a.gguf");
  test::write_tiny_manifest(folder_.path());
  expect_refused({.tts = Need::must}, ErrorCode::corrupt_file,
                 {"files.voice", "omnivoice-tokenizer", "tts/z.gguf (omnivoice-lm)"});
}

TEST_F(BundleTest, AManifestThatIsNotGoodStopsEverything) {
  test::change_manifest(folder_.path(), [](auto& m) { m["version"] = "new"; });
  expect_refused({.text = Need::must}, ErrorCode::corrupt_file, {"eliza-1.manifest.json", "version"});
  test::write_bytes(folder_ / std::string(kManifestName), "");
  expect_refused({.text = Need::must}, ErrorCode::corrupt_file, {"JSON"});
  test::write_bytes(folder_ / std::string(kManifestName), std::string(kMostManifestBytes + 1, ' '));
  expect_refused({.text = Need::must}, ErrorCode::invalid_argument, {"larger"});
}

TEST_F(BundleTest, WithoutAManifestPlacesAndNamesCount) {
  fs::remove(folder_ / std::string(kManifestName));
  fs::rename(folder_ / "asr/sound.gguf", folder_ / "asr/mmproj.gguf");
  const auto bundle = open_bundle(
      folder_.path(),
      {.text = Need::must, .asr = Need::must, .tts = Need::must, .vad = Need::may, .drafter = Need::may});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->id, "");
  EXPECT_EQ(bundle->text, folder_ / "text/model.gguf");
  EXPECT_EQ(bundle->asr_text, folder_ / "asr/words.gguf");
  EXPECT_EQ(bundle->asr_encoder, folder_ / "asr/mmproj.gguf");
  EXPECT_EQ(bundle->tts_codec, folder_ / "tts/codec/a.gguf");
  EXPECT_EQ(bundle->drafter, folder_ / "dflash/drafter.gguf");
  EXPECT_EQ(bundle->voices.size(), 2u);
  expect_refused({.text = Need::must}, ErrorCode::not_found, {"without a language model"},
                 folder_ / "absent");
  expect_refused({.drafter = Need::must}, ErrorCode::not_found, {"no drafter"}, folder_ / "absent");
}

}  // namespace
}  // namespace parlance
