#include "support/json_file.h"
#include "tts/text/combine.h"

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(CombineTexts, GivesWhatIsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/combine.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/combine.json");
  ASSERT_GE(rows.size(), 8u);
  for (const auto& row : rows) {
    EXPECT_EQ(combine_texts(row.at("ref_text").get<std::string>(), row.at("text").get<std::string>()),
              row.at("out").get<std::string>())
        << row;
  }
}

TEST(CombineTexts, WorksStepByStep) {
  EXPECT_EQ(combine_texts("", ""), "");
  EXPECT_EQ(combine_texts(" \t", "x"), "x");
  EXPECT_EQ(combine_texts("x", ""), "x ");          // stripped before they are joined
  EXPECT_EQ(combine_texts("", "a \n\t b"), "a b");  // line ends go before runs of blanks become one
  EXPECT_EQ(combine_texts("", "\n a"), " a");
  EXPECT_EQ(combine_texts("", "\u4E00 \n"), "\u4E00");
  EXPECT_EQ(combine_texts("", "\u9FFF \uFF08 a"), "\u9FFF( a");
  EXPECT_EQ(combine_texts("", "\uA000 a"), "\uA000 a");
  EXPECT_EQ(combine_texts("\xFF", "\xE4\xB8 \xFE"), "\xFF \xE4\xB8 \xFE");
}

TEST(AddPunctuation, GivesWhatIsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/add_punct.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/add_punct.json");
  ASSERT_GE(rows.size(), 12u);
  for (const auto& row : rows) {
    EXPECT_EQ(add_punctuation(row.at("text").get<std::string>()), row.at("out").get<std::string>()) << row;
  }
}

TEST(AddPunctuation, TakesAnyBytes) {
  EXPECT_EQ(add_punctuation(" \t\n"), "");
  EXPECT_EQ(add_punctuation("a\xFF"), "a\xFF.");
  EXPECT_EQ(add_punctuation("\xE3\x80"), "\xE3\x80.");
  EXPECT_EQ(add_punctuation("「好」"), "「好」。");
  EXPECT_EQ(add_punctuation("好！"), "好！");
}

}  // namespace
}  // namespace parlance
