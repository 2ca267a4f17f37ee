#include "support/fixtures.h"
#include "support/json_file.h"
#include "tokenizer/pre_tokenizer.h"

namespace parlance {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words words;
  split_omnivoice(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(OmniVoiceWords, AreSplitAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/bpe.json");
  for (const auto& row : test::read_json(test::fixtures_root() / "omnivoice/text/bpe.json")) {
    const std::string text = row.contains("text")
                                 ? row.at("text").get<std::string>()
                                 : test::from_hex(row.at("text_hex").get<std::string>()) + "    ";
    Words expected;
    for (const auto& hex : row.at("chunks_hex")) expected.push_back(test::from_hex(hex.get<std::string>()));
    EXPECT_EQ(split(text), expected) << row;
  }
}

TEST(OmniVoiceWords, TakeSpacesByBytes) {
  EXPECT_EQ(split("a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(split("a\u00A0b"), (Words{"a", "\xC2",
                                      "\xA0"
                                      "b"}));
  EXPECT_EQ(split("a \n\n b"), (Words{"a", " \n\n ", "b"}));
  EXPECT_EQ(split("a  "), (Words{"a", "  "}));
  EXPECT_EQ(split("a 1"), (Words{"a", " ", "1"}));
  EXPECT_EQ(split(" !?\r\n\nx"), (Words{" !?\r\n\n", "x"}));
  EXPECT_EQ(split("\u200Bx"), (Words{"\xE2\x80", "\x8Bx"}));
}

TEST(OmniVoiceWords, SplitContractionsBeforeOtherThanLetters) {
  EXPECT_EQ(split("it'S we'LL 'tis"), (Words{"it", "'S", " we", "'LL", " '", "tis"}));
  EXPECT_EQ(split("x\u2019re \u2019d"), (Words{"x", "\u2019re", " \u2019", "d"}));
  EXPECT_EQ(split("'"), Words{"'"});
  EXPECT_EQ(split("'l"), Words{"'l"});
}

TEST(OmniVoiceWords, LoseNoByte) {
  for (const char* text : {"", "\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F", "'\xE2\x80", "\xC3\n\n",
                           " \xF7"
                           "abc"}) {
    std::string joined;
    for (const std::string& word : split(text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace parlance
