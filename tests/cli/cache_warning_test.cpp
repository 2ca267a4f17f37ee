// Where a compressed cache breaks the model, the verb that it is given to says so.
#include "audio/wav_writer.h"
#include "base/os/environment_variable.h"
#include "cli/cli_run.h"
#include "support/hard_model.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

// The demo's bundle with language models that no uniform format of 3 bits leaves whole.
class CacheWarning : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path demo = test::source_root() / "models/demo";
    for (const char* part : {"text", "asr"}) fs::create_directories(folder_ / part);
    fs::create_directory_symlink(demo / "vad", folder_ / "vad");
    ASSERT_TRUE(
        test::make_hard_model(demo / "text/parlance-demo-text-q8_0.gguf", folder_ / "text/hard.gguf"));
    ASSERT_TRUE(test::make_hard_model(demo / "asr/eliza-1-asr.gguf", folder_ / "asr/eliza-1-asr.gguf"));
    fs::create_symlink(demo / "asr/eliza-1-asr-mmproj.gguf", folder_ / "asr/eliza-1-asr-mmproj.gguf");
    std::vector<float> samples(16000);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = i % 2 == 0 ? 1e-4f : -1e-4f;
    ASSERT_TRUE(write_wav(folder_ / "silence.wav", samples, {.sample_rate_hz = 16000}));
  }

  // How often a verb says it, with a cache that breaks the model and with one that does not.
  void expect_warning(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-t", "2", "-m", folder_.path().string()});
    const auto count = [&](std::vector<std::string> cache) {
      cache.insert(cache.begin(), arguments.begin(), arguments.end());
      const auto outcome = test::run(cache);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      int n = 0;
      for (size_t at = 0; (at = outcome.err.find("breaks this model", at)) != std::string::npos; ++at) ++n;
      return n;
    };
    EXPECT_EQ(count({"-ctk", "tbq3_0", "-ctv", "tbq3_0", "--cache-equalise", "off"}), 1) << arguments.front();
    EXPECT_EQ(count({"--cache", "balanced"}), 0) << arguments.front();
  }

  const test::TemporaryFolder folder_;
  const EnvironmentVariable cache_folder_{"XDG_CACHE_HOME", folder_.path().string()};
};

TEST_F(CacheWarning, IsGivenByVerbsThatTakeACache) {
  const std::string silence = (folder_ / "silence.wav").string();
  expect_warning({"chat", "-p", "hello", "-n", "1"});
  expect_warning({"listen", silence});
  expect_warning({"listen", silence, "--stream"});
}

}  // namespace
}  // namespace parlance
