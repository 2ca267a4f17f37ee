#include "tokenizer/special_splitter.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace parlance {
namespace {

using Parts = std::vector<std::pair<Token, std::string>>;

// A vocabulary of these texts; kinds as in `kinds`. The texts stay with the caller.
Vocabulary vocabulary_of(const std::vector<std::string>& texts, const std::vector<TokenKind>& kinds) {
  Vocabulary vocabulary;
  EXPECT_FALSE(vocabulary.texts.assign({texts.begin(), texts.end()}));
  vocabulary.kinds = kinds;
  return vocabulary;
}

Parts split(const Vocabulary& vocabulary, std::string_view text, bool parse_special = true) {
  Parts parts;
  SpecialSplitter(vocabulary).split(text, parse_special, [&](Token token, std::string_view part) {
    parts.emplace_back(token, part);
  });
  return parts;
}

TEST(SpecialSplitter, FindsTokensByKind) {
  const std::vector<std::string> texts = {"<a>", "<u>", "<think>", "word", "", "<pad>", "<0x41>"};
  const Vocabulary vocabulary =
      vocabulary_of(texts, {TokenKind::control, TokenKind::unknown, TokenKind::user_defined,
                            TokenKind::normal, TokenKind::control, TokenKind::unused, TokenKind::byte});
  const std::string text = "x<a><think>word<u> <pad><0x41>";
  EXPECT_EQ(split(vocabulary, text),
            (Parts{{-1, "x"}, {0, "<a>"}, {2, "<think>"}, {-1, "word"}, {1, "<u>"}, {-1, " <pad><0x41>"}}));
  EXPECT_EQ(split(vocabulary, text, false),
            (Parts{{-1, "x<a>"}, {2, "<think>"}, {-1, "word<u> <pad><0x41>"}}));
  EXPECT_EQ(split(vocabulary, ""), Parts{});
  EXPECT_EQ(split(vocabulary, "<a"), (Parts{{-1, "<a"}}));
}

TEST(SpecialSplitter, TheLongestWinsEvenIfItBeginsLater) {
  const std::vector<std::string> texts = {"ab", "bcd", "a", "d"};
  const Vocabulary vocabulary = vocabulary_of(texts, std::vector(4, TokenKind::control));
  EXPECT_EQ(split(vocabulary, "abcd"), (Parts{{2, "a"}, {1, "bcd"}}));
  EXPECT_EQ(split(vocabulary, "abab"), (Parts{{0, "ab"}, {0, "ab"}}));
  EXPECT_EQ(split(vocabulary, "abcx"), (Parts{{0, "ab"}, {-1, "cx"}}));
}

// The definition: longest tokens first, each taken at its places from left to right.
Parts split_slowly(const std::vector<std::string>& texts, const std::string& text) {
  std::vector<Token> owner(text.size(), -1);
  std::vector<size_t> starts;
  size_t longest = 0;
  for (const std::string& t : texts) longest = std::max(longest, t.size());
  for (size_t n = longest; n > 0; --n) {
    for (size_t at = 0; at + n <= text.size(); ++at) {
      const auto found = std::ranges::find(texts, text.substr(at, n));
      if (found == texts.end()) continue;
      if (!std::all_of(owner.begin() + at, owner.begin() + at + n, [](Token t) { return t < 0; })) continue;
      std::fill_n(owner.begin() + at, n, static_cast<Token>(found - texts.begin()));
      starts.push_back(at);
    }
  }
  std::ranges::sort(starts);
  Parts parts;
  size_t at = 0;
  for (const size_t start : starts) {
    if (start > at) parts.emplace_back(-1, text.substr(at, start - at));
    const Token token = owner[start];
    parts.emplace_back(token, texts[static_cast<size_t>(token)]);
    at = start + texts[static_cast<size_t>(token)].size();
  }
  if (at < text.size()) parts.emplace_back(-1, text.substr(at));
  return parts;
}

TEST(SpecialSplitter, FollowsTheDefinition) {
  std::mt19937_64 random(5);
  const auto random_text = [&](uint64_t most) {
    std::string text;
    for (uint64_t n = random() % most; n > 0; --n) text.push_back("ab<"[random() % 3]);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> texts;
    for (uint64_t n = random() % 9; n > 0; --n) {
      std::string text = random_text(6);
      if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
    const Vocabulary vocabulary = vocabulary_of(texts, std::vector(texts.size(), TokenKind::control));
    const std::string text = random_text(40);
    ASSERT_EQ(split(vocabulary, text), split_slowly(texts, text)) << testing::PrintToString(texts) << text;
  }
}

}  // namespace
}  // namespace parlance
