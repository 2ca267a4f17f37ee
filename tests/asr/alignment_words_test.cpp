#include "asr/alignment_words.h"

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using Words = std::vector<std::string>;

TEST(AlignmentWords, AreSplitAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("asr/text_rules.json");
  const auto rules = test::read_json(test::fixtures_root() / "asr/text_rules.json");
  for (const auto& row : rules.at("align_words")) {
    EXPECT_EQ(alignment_words(row.at("text").get<std::string>(), row.at("language").get<std::string>()),
              row.at("words").get<Words>());
  }
}

TEST(AlignmentWords, OfOddTexts) {
  EXPECT_EQ(alignment_words("", ""), Words());
  EXPECT_EQ(alignment_words(" ... ! — \u3000", ""), Words());
  EXPECT_EQ(alignment_words("a\u3000b\u00a0c\u2028d", ""), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(alignment_words("'tis o'clock '", ""), (Words{"'tis", "o'clock", "'"}));
  EXPECT_EQ(alignment_words("\U00020000x\uf900", ""), (Words{"\U00020000", "x", "\uf900"}));
  EXPECT_EQ(alignment_words("a\xff"
                            "b \xe4\xbd",
                            ""),
            Words{"ab"});
  EXPECT_EQ(alignment_words("안녕 하세요", "Korean"), (Words{"안녕", "하세요"}));
}

TEST(AlignmentWords, OfJapaneseEndWhereTheScriptChanges) {
  EXPECT_EQ(alignment_words("東京タワーへ行く。GPS", "Japanese"),
            (Words{"東", "京", "タワー", "へ", "行", "く", "GPS"}));
  EXPECT_EQ(alignment_words("タワーへ", "Chinese"), Words{"タワーへ"});
}

}  // namespace
}  // namespace parlance
