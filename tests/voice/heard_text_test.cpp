#include "voice/heard_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

TEST(HeardText, IsThatOfTheRecordedTruncations) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const auto json = test::read_json(test::fixtures_root() / "server" / "truncate.json");
  ASSERT_FALSE(json["cases"].empty());
  for (const auto& c : json["cases"]) {
    std::vector<PlayedPhrase> phrases;
    for (const auto& p : c["phrases"]) phrases.push_back({p[0], p[1], p[2]});
    const auto n_heard = c["audio_end_ms"].get<int64_t>() * 24;
    EXPECT_EQ(n_heard, c["samples"].get<int64_t>());
    EXPECT_EQ(heard_text(phrases, n_heard), c["heard"].get<std::string>()) << c.dump();
  }
}

// Word by word, as they end, and never one more for less.
TEST(HeardText, WordsComeWhenTheyHaveBeenSpoken) {
  const std::vector<PlayedPhrase> phrases = {{"ab cde f. ", 0, 70}, {"Gh ", 100, 120}};
  const std::vector<std::pair<int64_t, std::string>> steps = {
      {0, ""}, {20, "ab"}, {50, "ab cde"}, {70, "ab cde f."}, {120, "ab cde f. Gh"}};
  std::string expected;
  for (int64_t n = 0; n < 200; ++n) {
    for (const auto& [from, text] : steps) {
      if (n >= from) expected = text;
    }
    EXPECT_EQ(heard_text(phrases, n), expected) << n;
  }
}

TEST(HeardText, AllKindsOfTexts) {
  EXPECT_EQ(heard_text({}, 100), "");
  const std::vector<PlayedPhrase> blank = {{" \n ", 0, 50}, {"", 50, 60}};
  EXPECT_EQ(heard_text(blank, 10), "");
  EXPECT_EQ(heard_text(blank, 100), "");
  // Words of letters between ideographs stay whole.
  const std::vector<PlayedPhrase> mixed = {{"\u6771AB\u4eacC", 0, 50}};
  EXPECT_EQ(heard_text(mixed, 29), "\u6771");
  EXPECT_EQ(heard_text(mixed, 30), "\u6771AB");
  EXPECT_EQ(heard_text(mixed, 40), "\u6771AB\u4eac");
}

}  // namespace
}  // namespace parlance
