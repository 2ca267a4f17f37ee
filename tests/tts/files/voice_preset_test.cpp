#include "support/json_file.h"
#include "tts/files/voice_preset.h"

#include <cstring>
#include <fstream>

#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

std::vector<std::byte> preset_bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

VoicePreset small_preset() {
  return {.version = 2,
          .speaker_embedding = {0.5f, -1},
          .phrases = {{.text = "moment", .sample_rate_hz = 24000, .samples = {0.25f, 0.5f}},
                      {.text = "", .sample_rate_hz = 16000, .samples = {}}},
          .reference = {.n_codebook = 2, .codes = {1, 2, 3, 4, 5, 6}},
          .reference_text = "你好",
          .instruct = "female",
          .metadata = "{}"};
}

std::vector<std::byte> written(const VoicePreset& preset) {
  auto bytes = voice_preset_bytes(preset);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return *std::move(bytes);
}

void set_word(std::vector<std::byte>& bytes, size_t at, uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(VoicePreset, RecordedFiles) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/data");
  const auto folder = test::fixtures_root() / "omnivoice/data";
  const auto recorded = test::read_json(folder / "voice-preset-sample.json");
  for (const std::string name : {"voice-preset-sample.bin", "voice-preset-v1.bin"}) {
    const auto preset = read_voice_preset(folder / name);
    ASSERT_TRUE(preset) << preset.error().message;
    EXPECT_EQ(written(*preset), preset_bytes_of(test::read_text(folder / name))) << name;
    EXPECT_EQ(preset->speaker_embedding, recorded["embedding"].get<std::vector<float>>());
    ASSERT_EQ(preset->phrases.size(), 1u);
    EXPECT_EQ(preset->phrases[0].text, recorded["phrases"][0]["text"].get<std::string>());
    EXPECT_EQ(preset->phrases[0].sample_rate_hz, recorded["phrases"][0]["sample_rate"].get<int>());
    EXPECT_EQ(preset->phrases[0].samples, recorded["phrases"][0]["pcm"].get<std::vector<float>>());
    const bool has_voice = preset->version == 2;
    EXPECT_EQ(preset->reference.empty(), !has_voice);
    if (!has_voice) continue;
    EXPECT_EQ(preset->reference.n_codebook, recorded["K"].get<int64_t>());
    EXPECT_EQ(preset->reference.n_frames(), recorded["ref_T"].get<int64_t>());
    std::vector<int32_t> codes;
    for (const auto& row : recorded["tokens"])
      for (const int32_t code : row) codes.push_back(code);
    EXPECT_EQ(preset->reference.codes, codes);
    EXPECT_EQ(preset->reference_text, recorded["ref_text"].get<std::string>());
    EXPECT_EQ(preset->instruct, recorded["instruct"].get<std::string>());
    EXPECT_EQ(nlohmann::json::parse(preset->metadata), recorded["metadata"]);
  }
}

TEST(VoicePreset, WhatIsWrittenIsReadBack) {
  const test::TemporaryFolder folder;
  VoicePreset first = small_preset();
  first.version = 1;
  first.reference = {};
  first.reference_text = first.instruct = first.metadata = "";
  for (const VoicePreset& preset : {small_preset(), VoicePreset(), first}) {
    ASSERT_TRUE(write_voice_preset(folder / "a.bin", preset));
    const auto read = read_voice_preset(folder / "a.bin");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, preset);
  }
}

TEST(VoicePreset, WhatAVersionHasNoPlaceForIsRefused) {
  VoicePreset preset = small_preset();
  preset.version = 1;
  EXPECT_FALSE(voice_preset_bytes(preset));
  preset = small_preset();
  preset.phrases[0].text.resize(65536, 'a');
  EXPECT_FALSE(voice_preset_bytes(preset));
}

// The early bundles' file: 256 zeros and no phrases.
TEST(VoicePreset, ThePlaceholderOfEarlyBundlesIsNoVoice) {
  std::vector<std::byte> bytes(1052);
  const uint32_t head[] = {0x315a4c45, 1, 24, 1024, 1048, 4};
  std::memcpy(bytes.data(), head, sizeof head);
  const auto preset = parse_voice_preset(bytes, "default");
  ASSERT_TRUE(preset) << preset.error().message;
  EXPECT_EQ(preset->speaker_embedding.size(), 256u);
  EXPECT_TRUE(preset->phrases.empty() && preset->reference.empty() && preset->instruct.empty());
}

TEST(VoicePreset, EveryTruncationIsRefused) {
  const std::vector<std::byte> bytes = written(small_preset());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto preset = parse_voice_preset(std::span(bytes).first(n), "cut");
    ASSERT_FALSE(preset) << n;
    EXPECT_TRUE(preset.error().message.starts_with("cut: ")) << preset.error().message;
  }
}

// A flipped bit is refused, or makes another preset that is just as well formed.
TEST(VoicePreset, EveryFlippedBitIsRefusedOrReadByTheSameRules) {
  const std::vector<std::byte> bytes = written(small_preset());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto preset = parse_voice_preset(flipped, "flipped");
    if (!preset) continue;
    const auto again = parse_voice_preset(written(*preset), "written");
    ASSERT_TRUE(again) << bit << ": " << again.error().message;
    EXPECT_EQ(written(*again), written(*preset)) << bit;
  }
}

TEST(VoicePreset, RulesOfTheHead) {
  const std::vector<std::byte> good = written(small_preset());
  ASSERT_TRUE(parse_voice_preset(good, "a"));
  const auto n = static_cast<uint32_t>(good.size());
  struct Change {
    size_t at;
    uint32_t value;
    const char* message;
  };
  const std::vector<Change> changes{
      {0, 0x325a4c45, "ELZ1"},
      {4, 0, "version 0"},
      {4, 3, "version 3"},
      {8, 60, "speaker embedding should be"},  // within the head
      {8, n - 4, "speaker embedding should be"},
      {8, 0xffffffff, "speaker embedding should be"},
      {12, 7, "numbers of 4 bytes"},
      {20, 3, "within their number"},
      {24, n, "reference codes should be"},
      {28, 8, "2 codebooks and 3 frames"},
      {28, 7, "reference codes are not"},
      {56, 1, "reserved"},
      {60, 0x80000000, "reserved"},
  };
  for (const Change& change : changes) {
    std::vector<std::byte> bytes = good;
    set_word(bytes, change.at, change.value);
    const auto preset = parse_voice_preset(bytes, "a");
    ASSERT_FALSE(preset) << change.message;
    EXPECT_NE(preset.error().message.find(change.message), std::string::npos) << preset.error().message;
  }
}

TEST(VoicePreset, RulesOfTheSections) {
  const std::vector<std::byte> good = written(small_preset());
  const auto offset = [&](size_t word_at) {
    uint32_t value;
    std::memcpy(&value, good.data() + word_at, sizeof value);
    return size_t{value};
  };
  struct Change {
    size_t at;
    uint32_t value;
    const char* message;
  };
  const std::vector<Change> changes{
      {offset(16), 3, "phrase 3 of 3"},
      {offset(16), 1, "behind its last phrase"},
      {offset(16), 0xffffffff, "is not whole"},
      {offset(16) + 4 + 2 + 6, 1, "phrase 1"},      // a rate that no recording has
      {offset(16) + 4 + 2 + 6 + 4, 7, "phrase 1"},  // bytes that are no floats
      {offset(24), 0, "reference codes are not"},
      {offset(24), 0x80000001, "reference codes are not"},
      {offset(24) + 8, 0xffffffff, "-1 among them"},
      {offset(32), 0xffffffff, "reference text is not UTF-8"},
      {offset(40), 0xc0c0c0c0, "instruct is not UTF-8"},
  };
  for (const Change& change : changes) {
    std::vector<std::byte> bytes = good;
    set_word(bytes, change.at, change.value);
    const auto preset = parse_voice_preset(bytes, "a");
    ASSERT_FALSE(preset) << change.message;
    EXPECT_NE(preset.error().message.find(change.message), std::string::npos) << preset.error().message;
  }
}

TEST(VoicePreset, BundlesHaveThemById) {
  const test::TemporaryFolder bundle;
  auto missing = find_voice_preset(bundle.path(), "anna");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no voice presets"), std::string::npos) << missing.error().message;

  std::filesystem::create_directories(bundle / "cache");
  for (const std::string id : {"mia-2", "anna_v1.0"})
    ASSERT_TRUE(write_voice_preset(bundle / ("cache/voice-preset-" + id + ".bin"), small_preset()));
  std::ofstream(bundle / "cache/voice-preset-.bin") << "no id";
  std::ofstream(bundle / "cache/voice-preset-a b.bin") << "no such id";
  std::ofstream(bundle / "cache/other.bin") << "other";
  EXPECT_EQ(list_voice_presets(bundle.path()), (std::vector<std::string>{"anna_v1.0", "mia-2"}));
  const auto found = find_voice_preset(bundle.path(), "mia-2");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, small_preset());

  missing = find_voice_preset(bundle.path(), "anna");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("anna_v1.0, mia-2"), std::string::npos) << missing.error().message;
  for (const std::string id : {"", "..", "a..b", "../mia-2", "a/b", "a b", "a\n", "ä"}) {
    const auto refused = find_voice_preset(bundle.path(), id);
    ASSERT_FALSE(refused) << id;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument) << id;
  }
}

}  // namespace
}  // namespace parlance
