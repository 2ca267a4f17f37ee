// How a cache that was asked for becomes one that the model bears.
#include "assistant/cache_settling.h"

#include "assistant/conversation.h"
#include "assistant/regions.h"
#include "base/log.h"
#include "base/os/environment_variable.h"
#include "base/parameter.h"
#include "engine/probe_cache.h"
#include "gtest/gtest.h"
#include "kv/cache_choice.h"
#include "support/hard_model.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

void write_hard_model(const std::filesystem::path& path) {
  const std::filesystem::path easy = path.string() + ".easy";
  test::write_tiny_model(easy, {.n_embd = 128, .n_layer = 2});
  ASSERT_TRUE(test::make_hard_model(easy, path, /*sharper=*/8));
}

class CacheSettling : public testing::Test {
 protected:
  void SetUp() override {
    write_hard_model(folder_.path() / "hard.gguf");
    hard_ = test::load_text_model(folder_.path() / "hard.gguf");
    ASSERT_TRUE(hard_.model);
  }

  // The policy after settling; what was said is in remarks_.
  KvPolicy settle(const KvPolicy& policy) {
    SessionOptions options{.n_ctx = 256, .cache = policy};
    remarks_.clear();
    settle_cache(*hard_.model, options, [this](const std::string& text) { remarks_.push_back(text); });
    return options.cache;
  }
  double bits_of(const KvPolicy& policy) const {
    return bits_per_value(kv_layout(hard_.model->hyper_parameters(), {.cache = policy}));
  }
  static KvPolicy uniform(KvFormat format, bool equalises) {
    KvPolicy policy{.k = {.format = format}, .v = {.format = format}};
    policy.equalises = equalises;
    return policy;
  }

  test::TemporaryFolder folder_;
  const EnvironmentVariable cache_folder_{"XDG_CACHE_HOME", folder_.path().string()};
  test::LoadedModel hard_;
  std::vector<std::string> remarks_;
};

TEST_F(CacheSettling, SaysOnceWhatBreaksTheModelAndObeys) {
  const KvPolicy settled = settle(uniform(KvFormat::tbq3_0, /*equalises=*/false));
  EXPECT_EQ(settled.k.format, KvFormat::tbq3_0);
  EXPECT_FALSE(settled.equaliser);
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_NE(remarks_.front().find("breaks this model"), std::string::npos) << remarks_.front();
  EXPECT_NE(remarks_.front().find("tbq3_0"), std::string::npos) << remarks_.front();
}

TEST_F(CacheSettling, SaysWhatHelps) {
  settle(uniform(KvFormat::tbq4_0, /*equalises=*/true));
  ASSERT_EQ(remarks_.size(), 1u);
  for (const char* remedy : {"cache_sink=64, ", "cache=balanced", "or q8_0 for keys and values"})
    EXPECT_NE(without_marks(remarks_.front()).find(remedy), std::string::npos) << remarks_.front();
  settle(uniform(KvFormat::tbq3_0, /*equalises=*/false));
  ASSERT_EQ(remarks_.size(), 1u);  // whose first positions are not all that they spoil
  EXPECT_EQ(remarks_.front().find("cache_sink"), std::string::npos) << remarks_.front();
}

TEST(CacheProbing, IsOfAChatWhereTheModelKnowsChats) {
  const test::TemporaryFolder folder;
  const EnvironmentVariable cache_folder("XDG_CACHE_HOME", folder.path().string());
  const auto demo =
      test::load_text_model(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf");
  ASSERT_TRUE(demo.model);
  const auto probe = probe_of(*demo.model, {});
  ASSERT_TRUE(probe);
  const auto chat = prompt_tokens(*demo.model, {{"user", std::string(probe_text())}}, false);
  ASSERT_TRUE(chat);
  const auto of_chat = probe_cache(*demo.model, probe_tokens(*demo.model, *chat), {});
  ASSERT_TRUE(of_chat);
  EXPECT_EQ(*probe, *of_chat);
}

TEST_F(CacheSettling, EqualisedKeysDoNotBreakIt) {
  KvPolicy policy = uniform(KvFormat::tbq4_0, /*equalises=*/true);
  policy.n_sink = 64;
  const KvPolicy settled = settle(policy);
  EXPECT_TRUE(settled.equaliser);
  EXPECT_TRUE(remarks_.empty()) << remarks_.front();
}

TEST_F(CacheSettling, PresetsKeepToTheirBits) {
  for (const auto& [preset, most] : {std::pair("balanced", 5.0), std::pair("small", 4.0)}) {
    const KvPolicy settled = settle(*cache_preset(preset));
    EXPECT_FALSE(settled.goal);
    EXPECT_EQ(std::ssize(settled.layers), 2);
    EXPECT_LE(bits_of(settled), most) << preset;
    EXPECT_TRUE(remarks_.empty()) << remarks_.front();
  }
}

TEST_F(CacheSettling, FloatsAreLeftAlone) {
  EXPECT_FALSE(settle(*cache_preset("exact")).equaliser);
  EXPECT_FALSE(settle(uniform(KvFormat::bf16, true)).equaliser);
  EXPECT_FALSE(known_probe(*hard_.model));  // nothing was probed
}

TEST_F(CacheSettling, IsKeptAndProbedAgainOnlyForOtherFormats) {
  EXPECT_FALSE(known_probe(*hard_.model));
  const auto first = probe_of(*hard_.model, {});
  ASSERT_TRUE(first);
  const auto known = known_probe(*hard_.model);
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, *first);
  const auto written = std::filesystem::last_write_time(*probe_path(*hard_.model));
  ASSERT_TRUE(probe_of(*hard_.model, {{KvFormat::tbq4_0}}));
  EXPECT_EQ(std::filesystem::last_write_time(*probe_path(*hard_.model)), written);
  const auto more = probe_of(*hard_.model, {{KvFormat::q4_0}});
  ASSERT_TRUE(more);
  EXPECT_TRUE(more->tried(KvFormat::q4_0) && more->tried(KvFormat::tbq3_0));
}

TEST_F(CacheSettling, DamagedFilesAreMadeAnew) {
  const auto first = probe_of(*hard_.model, {});
  ASSERT_TRUE(first);
  std::filesystem::resize_file(*probe_path(*hard_.model), 100);
  EXPECT_FALSE(known_probe(*hard_.model));
  const auto again = probe_of(*hard_.model, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first);
  EXPECT_TRUE(known_probe(*hard_.model));
}

// Doors that say nothing of their own still warn.
TEST_F(CacheSettling, RegionsWithoutAnybodyToTellWarnInTheLog) {
  Choice choice;
  choice.files.text = (folder_.path() / "hard.gguf").string();
  choice.devices.n_threads = 2;
  choice.draft.uses_model = false;
  choice.context.cache = uniform(KvFormat::tbq3_0, /*equalises=*/false);
  const LogSink before = set_log_sink([this](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) remarks_.emplace_back(line);
  });
  const auto loaded = Regions(choice).text.acquire();
  set_log_sink(before);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_NE(remarks_.front().find("breaks this model"), std::string::npos) << remarks_.front();
}

// Of the recogniser's decoder, which has a cache of its own.
TEST_F(CacheSettling, RecognisersAreSettledToo) {
  const auto demo = test::source_root() / "models/demo/asr";
  ASSERT_TRUE(test::make_hard_model(demo / "eliza-1-asr.gguf", folder_.path() / "asr.gguf"));
  Choice choice;
  choice.files.asr = (folder_.path() / "asr.gguf").string();
  choice.files.mmproj = (demo / "eliza-1-asr-mmproj.gguf").string();
  choice.devices.n_threads = 2;
  choice.recognizer.cache = uniform(KvFormat::tbq3_0, /*equalises=*/false);
  const auto remember = [this](const std::string& text) { remarks_.push_back(text); };
  ASSERT_TRUE(Regions(choice, remember).asr.acquire());
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_NE(remarks_.front().find("breaks this model"), std::string::npos) << remarks_.front();
  remarks_.clear();
  choice.recognizer.cache = *cache_preset("balanced");
  ASSERT_TRUE(Regions(choice, remember).asr.acquire());
  EXPECT_TRUE(remarks_.empty()) << remarks_.front();
}

}  // namespace
}  // namespace parlance
