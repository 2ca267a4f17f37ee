#include "tts/tts_model.h"

#include <fstream>

#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

class TtsModelTest : public ::testing::Test {
 protected:
  void SetUp() override { PARLANCE_REQUIRE_FIXTURES("omnivoice/models"); }

  static void expect_error(const Error& error, ErrorCode code, std::initializer_list<std::string> words) {
    EXPECT_EQ(error.code, code) << error.message;
    for (const std::string& word : words)
      EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
  }

  const TemporaryFolder folder_;
};

TEST_F(TtsModelTest, FindsThePairOfABundle) {
  make_tiny_bundle(folder_);
  for (const fs::path& given : {folder_.path(), folder_ / "tts"}) {
    const auto files = find_tts(given);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->base, folder_ / "tts/base.gguf");
    EXPECT_EQ(files->codec, folder_ / "tts/codec.gguf");
    EXPECT_EQ(bundle_of_tts(given), folder_.path());
  }
  EXPECT_EQ(bundle_of_tts(folder_ / "tts/base.gguf"), folder_.path());
  EXPECT_EQ(bundle_of_tts((folder_ / "tts").string() + "/"), folder_.path());
}

TEST_F(TtsModelTest, SaysWhatWasFoundInstead) {
  expect_error(find_tts(folder_ / "none").error(), ErrorCode::not_found, {"not a folder"});
  expect_error(find_tts(folder_.path()).error(), ErrorCode::not_found, {"found none and none"});
  expect_error(find_tts(tts_fixtures() / "models").error(), ErrorCode::not_found,
               {"lm-tiny-bf16.gguf, lm-tiny-f32.gguf", "name the two files"});
  std::ofstream(folder_ / "base.gguf") << "GGUFnothing";
  EXPECT_NE(find_tts(folder_.path()).error().message.find("base.gguf"), std::string::npos);
}

TEST_F(TtsModelTest, RefusesOtherFiles) {
  const auto device = std::move(*make_cpu_device({.n_threads = 1}));
  const fs::path lm = tts_fixtures() / "models/lm-tiny-f32.gguf",
                 codec = tts_fixtures() / "models/codec-tiny-f32.gguf";
  expect_error(TtsModel::load({codec, lm}, *device).error(), ErrorCode::unsupported,
               {"codec-tiny-f32.gguf", "omnivoice-lm", "omnivoice-tokenizer"});
  expect_error(TtsModel::load({lm, lm}, *device).error(), ErrorCode::unsupported, {"lm-tiny-f32.gguf"});
  expect_error(TtsModel::load({folder_ / "none.gguf", codec}, *device).error(), ErrorCode::not_found,
               {"none.gguf"});
  const auto whole = read_text(codec);
  std::ofstream(folder_ / "cut.gguf", std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_error(TtsModel::load({lm, folder_ / "cut.gguf"}, *device).error(), ErrorCode::corrupt_file,
               {"cut.gguf"});
  EXPECT_TRUE(TtsModel::load({lm, codec}, *device));
}

TEST_F(TtsModelTest, VoicesAreFoundByIdAndFile) {
  make_tiny_bundle(folder_);
  const CodeFormat format{.n_codebook = 8, .n_codes = 1024};
  const auto by_id = find_voice(folder_.path(), "sample", format);
  ASSERT_TRUE(by_id) << by_id.error().message;
  EXPECT_FALSE(by_id->reference.empty());
  EXPECT_FALSE(by_id->reference_text.empty());
  const auto by_file = find_voice({}, (folder_ / "cache/voice-preset-sample.bin").string(), format);
  ASSERT_TRUE(by_file) << by_file.error().message;
  EXPECT_EQ(by_file->reference, by_id->reference);
  for (const char* automatic : {"", "default"}) {
    const auto voice = find_voice(folder_.path(), automatic, format);
    ASSERT_TRUE(voice) << voice.error().message;
    EXPECT_TRUE(voice->reference.empty());
  }

  expect_error(find_voice(folder_.path(), "nobody", format).error(), ErrorCode::not_found,
               {"nobody", "sample"});
  expect_error(find_voice(folder_.path(), "a b", format).error(), ErrorCode::invalid_argument, {"a b"});
  expect_error(find_voice(folder_.path(), "none.rvq", format).error(), ErrorCode::not_found, {"none.rvq"});
  std::ofstream(folder_ / "cache/voice-preset-bad.bin") << "ELZ1";
  expect_error(find_voice(folder_.path(), "bad", format).error(), ErrorCode::corrupt_file,
               {"voice-preset-bad"});
  expect_error(find_voice(folder_.path(), "sample", {.n_codebook = 8, .n_codes = 2}).error(),
               ErrorCode::corrupt_file, {"sample", "0 to 1"});
}

}  // namespace
}  // namespace parlance::test
