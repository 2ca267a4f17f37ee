#include "support/json_file.h"
#include "tts/text/voice_design.h"

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(VoiceDesign, IsResolvedAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/voice_design.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/voice_design.json");
  ASSERT_GE(rows.size(), 30u);
  for (const auto& row : rows) {
    const auto resolved =
        resolve_voice_design(row.at("instruct").get<std::string>(), row.at("use_zh").get<bool>());
    ASSERT_EQ(resolved.has_value(), row.at("ok").get<bool>()) << row;
    if (resolved) {
      EXPECT_EQ(*resolved, row.at("out").get<std::string>()) << row;
    } else {
      EXPECT_EQ(resolved.error().message, row.at("err").get<std::string>());
      EXPECT_EQ(resolved.error().code, ErrorCode::invalid_argument);
    }
  }
}

std::string resolved(std::string_view description, bool speaks_chinese = false) {
  const auto result = resolve_voice_design(description, speaks_chinese);
  return result ? *result : "error: " + result.error().message;
}

TEST(VoiceDesign, TakesAnyBlanksAndCommas) {
  EXPECT_EQ(resolved(" \t"), "");
  EXPECT_EQ(resolved(" , ，,"), "");
  EXPECT_EQ(resolved("\tMale ，Elderly"), "male, elderly");
  EXPECT_EQ(resolved("男"), "male");
  EXPECT_EQ(resolved("female,东北话", false), "女，东北话");
  EXPECT_EQ(resolved("男，british accent", true), "male, british accent");
}

TEST(VoiceDesign, NamesEveryConflict) {
  EXPECT_NE(resolved("male, child, 女, elderly, young adult")
                .find("category: 'male' vs 'female'; 'child' vs 'elderly' vs 'young adult'. Each"),
            std::string::npos);
  EXPECT_NE(resolved("whisper, whisper").find("'whisper' vs 'whisper'"), std::string::npos);
  EXPECT_NE(resolved("四川话，东北话").find("'四川话' vs '东北话'"), std::string::npos);
}

TEST(VoiceDesign, SuggestsTheMostSimilarItem) {
  const auto suggestion = [](std::string_view word) {
    const std::string message = resolved(word);
    const std::string_view mark = "did you mean '";
    const size_t at = message.find(mark);
    if (at == std::string::npos) return std::string();
    return message.substr(at + mark.size(), message.find('\'', at + mark.size()) - at - mark.size());
  };
  EXPECT_EQ(suggestion("Whispering"), "whisper");
  EXPECT_EQ(suggestion("moderate pich"), "moderate pitch");
  EXPECT_EQ(suggestion("very hi pitch"), "very high pitch");
  EXPECT_EQ(suggestion("britisch accent"), "british accent");
  EXPECT_EQ(suggestion("四川"), "四川话");
  EXPECT_EQ(suggestion("accent"), "korean accent");  // as near as "indian accent": the last in order
  EXPECT_EQ(suggestion("xqzk"), "");
}

TEST(VoiceDesign, ListsEveryUnknownItemWithItsOwnCase) {
  const std::string message = resolved(" Loud, male,FAST ");
  EXPECT_NE(message.find("found in Loud, male,FAST:\n  'Loud' -> 'loud' (unsupported)\n"
                         "  'FAST' -> 'fast' (unsupported)\n\nValid"),
            std::string::npos)
      << message;
}

TEST(VoiceDesign, TakesAnyBytes) {
  EXPECT_NE(resolved("\xFFmale").find("'\uFFFDmale'"), std::string::npos);
  EXPECT_NE(resolved(std::string(100'000, 'a')).find("(unsupported)"), std::string::npos);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "moderate pitches in any accents,";
  EXPECT_NE(resolved(many).find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace parlance
