#include "support/json_file.h"
#include "tts/text/duration.h"

#include <fstream>
#include <limits>
#include <map>

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(CharWeight, IsAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/charweight.json");
  const auto recorded = test::read_json(test::fixtures_root() / "omnivoice/text/charweight.json");
  const auto& points = recorded.at("cp");
  ASSERT_GE(points.size(), 60u);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto c = static_cast<char32_t>(std::stoul(points[i].get<std::string>(), nullptr, 16));
    EXPECT_EQ(char_weight(c), recorded.at("w")[i].get<float>()) << points[i];
  }
}

// Every code point by the rules, with the recorded tables read anew.
TEST(CharWeight, FollowsTheRecordedTables) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/data/unicode_categories.tsv");
  const std::filesystem::path data = test::fixtures_root() / "omnivoice/data";
  constexpr char32_t kEnd = 0x110000;
  std::vector<float> expected(kEnd, 1.0f);
  for (char32_t c = 0x20001; c < kEnd; ++c) expected[c] = 3.0f;
  std::string line, script;
  std::ifstream scripts(data / "script_ranges.tsv");
  std::getline(scripts, line);
  char32_t next = 0;
  std::string end;
  for (float weight = 0; scripts >> end >> script >> weight;) {
    for (; next <= std::stoul(end, nullptr, 16); ++next) expected[next] = weight;
  }
  std::ifstream classes(data / "unicode_categories.tsv");
  std::getline(classes, line);
  const std::map<std::string, float> weights = {
      {"M", 0.0f}, {"P", 0.5f}, {"S", 0.5f}, {"Z", 0.2f}, {"N", 3.5f}};
  std::string first, last, letter;
  while (classes >> first >> last >> letter) {
    for (auto c = std::stoul(first, nullptr, 16); c <= std::stoul(last, nullptr, 16); ++c) {
      expected[c] = weights.at(letter);
    }
  }
  for (char32_t c = 'A'; c <= 'Z'; ++c) expected[c] = expected[c + 32] = 1.0f;
  expected[0x640] = 0.0f;
  for (char32_t c = 0; c < kEnd; ++c) {
    ASSERT_EQ(char_weight(c), expected[c]) << "U+" << std::hex << static_cast<uint32_t>(c);
  }
}

TEST(Duration, IsEstimatedAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/duration.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/duration.json");
  ASSERT_GE(rows.size(), 16u);
  for (const auto& row : rows) {
    const auto text = row.at("text").get<std::string>(), reference = row.at("ref_text").get<std::string>();
    const auto n_reference = row.at("ref_tokens").get<int32_t>();
    const bool has_reference = !reference.empty() && n_reference > 0;
    EXPECT_EQ(text_weight(text), row.at("weight").get<float>()) << row;
    const float estimate = has_reference ? estimate_frames(text, reference, static_cast<float>(n_reference))
                                         : estimate_frames(text, "Nice to meet you.", 25);
    EXPECT_EQ(estimate, row.at("estimate").get<float>()) << row;
    EXPECT_EQ(n_target_frames(text, reference, n_reference), row.at("tokens").get<int32_t>()) << row;
  }
}

TEST(Duration, IsAtLeastOneFrameAndFinite) {
  EXPECT_EQ(n_target_frames("", "", 0), 1);
  EXPECT_EQ(n_target_frames("abc", "\u0640", 100), 1);
  EXPECT_EQ(estimate_frames("abc", "", 10), 0);
  EXPECT_EQ(estimate_frames("abc", "abc", -1), 0);
  EXPECT_EQ(n_target_frames(std::string(100'000, '1'), ".", std::numeric_limits<int32_t>::max()),
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(n_target_frames("\xFF\xFE\xC3", "", 0), n_target_frames("\uFFFD\uFFFD\uFFFD", "", 0));
}

TEST(Duration, OfSecondsIsCutToWholeFrames) {
  EXPECT_EQ(frames_of_seconds(1), 25);
  EXPECT_EQ(frames_of_seconds(0.0799f), 1);
  EXPECT_EQ(frames_of_seconds(0.08f), 2);
  EXPECT_EQ(frames_of_seconds(0), 1);
  EXPECT_EQ(frames_of_seconds(-3), 1);
  EXPECT_EQ(frames_of_seconds(std::numeric_limits<float>::quiet_NaN()), 1);
  EXPECT_EQ(frames_of_seconds(std::numeric_limits<float>::infinity()), std::numeric_limits<int32_t>::max());
}

}  // namespace
}  // namespace parlance
