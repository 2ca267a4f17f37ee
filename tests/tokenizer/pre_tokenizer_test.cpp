#include "tokenizer/pre_tokenizer.h"

#include <random>

#include "gtest/gtest.h"
#include "text/unicode.h"

namespace parlance {
namespace {

using Words = std::vector<std::string>;

Words split(PrePattern pattern, std::string_view text) {
  Words words;
  split_pre_tokens(pattern, text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

struct Case {
  PrePattern pattern;
  std::string text;
  Words words;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << static_cast<int>(c.pattern) << ' ' << testing::PrintToString(c.text);
}

class PreTokenizerCase : public testing::TestWithParam<Case> {};

TEST_P(PreTokenizerCase, SplitsAsTheExpressionDoes) {
  EXPECT_EQ(split(GetParam().pattern, GetParam().text), GetParam().words);
}

constexpr PrePattern kGpt2 = PrePattern::gpt2, kLlama3 = PrePattern::llama3, kQwen2 = PrePattern::qwen2,
                     kQwen35 = PrePattern::qwen35, kPlain = PrePattern::plain;

INSTANTIATE_TEST_SUITE_P(
    Words, PreTokenizerCase,
    testing::Values(Case{kQwen2, "", {}}, Case{kQwen2, "Hello world", {"Hello", " world"}},
                    Case{kQwen2, "it's WE'LL 'd", {"it", "'s", " WE", "'LL", " '", "d"}},
                    Case{kQwen2, "'dog 'Rex", {"'d", "og", " '", "Rex"}},
                    Case{kGpt2, "it's IT'S", {"it", "'s", " IT", "'", "S"}},
                    // One character of any kind but line ends and numbers goes with the word that follows.
                    Case{kQwen2, "(word)\tx", {"(word", ")", "\tx"}},
                    Case{kGpt2, "(word)\tx", {"(", "word", ")", "\t", "x"}},
                    // Numbers
                    Case{kQwen2, "1234 5", {"1", "2", "3", "4", " ", "5"}},
                    Case{kLlama3, "1234 5", {"123", "4", " ", "5"}}, Case{kGpt2, "1234 5", {"1234", " 5"}},
                    Case{kLlama3,
                         "\xC2\xBD\xE2\x85\xA7\xD9\xA3"
                         "4",
                         {"\xC2\xBD\xE2\x85\xA7\xD9\xA3", "4"}},
                    // Other characters take the line ends after them along.
                    Case{kQwen2, "a !?\r\n\nb", {"a", " !?\r\n\n", "b"}},
                    Case{kGpt2, "a !?\n\nb", {"a", " !?", "\n", "\n", "b"}},
                    // White space
                    Case{kQwen2, "a   b", {"a", "  ", " b"}}, Case{kQwen2, "a   1", {"a", "  ", " ", "1"}},
                    Case{kQwen2, "a   ", {"a", "   "}}, Case{kQwen2, " \n \n  b", {" \n \n", " ", " b"}},
                    Case{kGpt2, " \n  b", {" \n ", " b"}},
                    Case{kQwen2, "a\xC2\xA0\xE3\x80\x80", {"a", "\xC2\xA0\xE3\x80\x80"}},
                    Case{kQwen2, "\xC2\xA0 b", {"\xC2\xA0", " b"}},
                    // U+0301 is a mark: part of the word for qwen35, another character for qwen2.
                    Case{kQwen2, "e\xCC\x81x", {"e", "\xCC\x81x"}},
                    Case{kQwen35, "e\xCC\x81x", {"e\xCC\x81x"}}, Case{kQwen35, "!\xCC\x81", {"!\xCC\x81"}},
                    Case{kQwen2, "!\xCC\x81", {"!\xCC\x81"}}, Case{kQwen35, "1\xCC\x81", {"1", "\xCC\x81"}},
                    // Private and unassigned code points are other characters.
                    Case{kQwen2, "\xEE\x80\x80\xCD\xB8 a", {"\xEE\x80\x80\xCD\xB8", " a"}},
                    Case{kPlain, "a+b=12345 67!", {"a", "+", "b", "=", "123", "45", " ", "67", "!"}},
                    Case{kPlain, "it's  on", {"it", "'", "s", " ", " on"}},
                    Case{kPlain, "x``y", {"x", "``", "y"}},
                    Case{kPlain,
                         "12\xD9\xA3"
                         "4567",
                         {"12\xD9\xA3", "456", "7"}}));

TEST(PreTokenizer, LosesNothing) {
  std::mt19937_64 random(7);
  const std::string_view parts[] = {"a",
                                    "B",
                                    "'",
                                    "s",
                                    "'LL",
                                    "7",
                                    " ",
                                    "  ",
                                    "\n",
                                    "\r",
                                    "\t",
                                    "!",
                                    ".",
                                    "$",
                                    "`",
                                    "\xCC\x81",
                                    "\xC3\xA9",
                                    "\xE4\xB8\xAD",
                                    "\xC2\xA0",
                                    "\xE3\x80\x80",
                                    "\xD9\xA3",
                                    "\xF0\x9F\x99\x82",
                                    "\xED\xA0\x80",
                                    "\xEF\xBF\xBD"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t n = random() % 20; n > 0; --n) text += parts[random() % std::size(parts)];
    for (const PrePattern pattern : {kGpt2, kLlama3, kQwen2, kQwen35, kPlain}) {
      std::string joined;
      for (const std::string& word : split(pattern, text)) {
        EXPECT_FALSE(word.empty());
        joined += word;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

TEST(PreTokenizer, NamesAreUnique) {
  for (const PreTokenizer& pre : pre_tokenizers()) EXPECT_EQ(find_pre_tokenizer(pre.name), &pre);
  EXPECT_EQ(find_pre_tokenizer("nope"), nullptr);
  EXPECT_EQ(find_pre_tokenizer(""), nullptr);
}

}  // namespace
}  // namespace parlance
