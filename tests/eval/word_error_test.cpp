#include "eval/word_error.h"

#include <random>

#include "support/fixtures.h"

namespace parlance {
namespace {

using Words = std::vector<std::string>;

TEST(WordsToCompare, AreWithoutCaseAndPunctuation) {
  EXPECT_EQ(words_to_compare("Hello, WORLD! -- (ok)"), (Words{"hello", "world", "ok"}));
  EXPECT_EQ(words_to_compare("It’s Tom's 'quoted' rock''n'"),
            (Words{"it's", "tom's", "quoted", "rock", "n"}));
  EXPECT_EQ(words_to_compare("well-known 3.5 km"), (Words{"well", "known", "3", "5", "km"}));
  EXPECT_EQ(words_to_compare("ÉCOLE हिन्दी"), (Words{"école", "हिन्दी"}));
  EXPECT_EQ(words_to_compare("你好，world！タワー"), (Words{"你", "好", "world", "タ", "ワ", "ー"}));
  EXPECT_EQ(words_to_compare(" ...'\xff"), Words());
}

TEST(WordErrors, CountEachKind) {
  const auto errors = [](size_t s, size_t d, size_t i, size_t n) { return WordErrors{s, d, i, n}; };
  EXPECT_EQ(count_word_errors("the cat sat", "The cat, sat."), errors(0, 0, 0, 3));
  EXPECT_EQ(count_word_errors("the cat sat", "the bat sat"), errors(1, 0, 0, 3));
  EXPECT_EQ(count_word_errors("the cat sat", "cat sat"), errors(0, 1, 0, 3));
  EXPECT_EQ(count_word_errors("the cat sat", "the cat sat down now"), errors(0, 0, 2, 3));
  EXPECT_EQ(count_word_errors("a b c d e f", "a x d e f g"), errors(1, 1, 1, 6));
  EXPECT_EQ(count_word_errors("", "made up"), errors(0, 0, 2, 0));
  EXPECT_EQ(count_word_errors("not heard", ""), errors(0, 2, 0, 2));
  EXPECT_EQ(count_word_errors("", ""), errors(0, 0, 0, 0));
}

TEST(WordErrors, HaveARate) {
  EXPECT_EQ(WordErrors{}.rate(), 0);
  EXPECT_EQ((WordErrors{0, 0, 2, 0}).rate(), 2);
  WordErrors sum = count_word_errors("a b c d", "a b c x");
  EXPECT_EQ(sum.rate(), 0.25);
  sum += count_word_errors("a b", "a b c d");
  EXPECT_EQ(sum, (WordErrors{1, 0, 2, 6}));
  EXPECT_EQ(sum.rate(), 0.5);
}

// What every count must satisfy, on random words: lengths fit, and swapping the texts swaps the errors'
// number.
TEST(WordErrors, AreConsistent) {
  std::mt19937 random(4);
  const auto text = [&] {
    std::string words;
    for (size_t i = 0, n = random() % 12; i < n; ++i)
      words += std::string(1, static_cast<char>('a' + random() % 4)) + ' ';
    return words;
  };
  for (int run = 0; run < 2000; ++run) {
    const std::string a = text(), b = text();
    const WordErrors errors = count_word_errors(a, b);
    ASSERT_EQ(errors.n_words, a.size() / 2);
    ASSERT_EQ(a.size() / 2 - errors.deletions + errors.insertions, b.size() / 2);
    ASSERT_EQ(errors.errors(), count_word_errors(b, a).errors());
    ASSERT_EQ(errors.errors() == 0, a == b);
    ASSERT_LE(errors.errors(), std::max(a.size(), b.size()) / 2);
  }
}

}  // namespace
}  // namespace parlance
