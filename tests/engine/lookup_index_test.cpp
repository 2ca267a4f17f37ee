#include "engine/lookup_index.h"

#include <gtest/gtest.h>

#include <random>

namespace parlance {
namespace {

std::vector<Token> found_in(const std::vector<Token>& text, int64_t most = 8) {
  LookupIndex index;
  index.follow(text);
  return index.find(most).tokens;
}

TEST(LookupIndex, FindsWhatFollowedBefore) {
  EXPECT_EQ(found_in({1, 2, 3, 4, 5, 1, 2}, 2), (std::vector<Token>{3, 4}));
  EXPECT_EQ(found_in({1, 2, 3, 4, 5, 1, 2}), (std::vector<Token>{3, 4, 5, 1, 2}));     // to the end
  EXPECT_EQ(found_in({7, 1, 2, 3, 9, 1, 2, 4, 7, 1, 2}, 1), (std::vector<Token>{3}));  // the longer match
  EXPECT_EQ(found_in({1, 2, 3, 1, 2, 4, 1, 2}, 1), (std::vector<Token>{4}));           // the latest
  EXPECT_EQ(found_in({1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2}, 1), (std::vector<Token>{3}));  // what is more usual
  EXPECT_EQ(found_in({5, 5, 5}, 8), (std::vector<Token>{5}));
  EXPECT_TRUE(found_in({1, 2, 3}).empty());
  EXPECT_TRUE(found_in({1}).empty());
  EXPECT_TRUE(found_in({}).empty());
  EXPECT_TRUE(found_in({1, 2, 3, 1, 2}, 0).empty());
  EXPECT_TRUE(found_in({1, 2, -2, 1, 2}).empty());  // stands for a row
}

// The farthest match there is before a text's end, by reading it.
int64_t farthest_match(const std::vector<Token>& text) {
  const auto n = std::ssize(text);
  int64_t most = 0;
  for (int64_t place = 1; place < n; ++place) {
    int64_t match = 0;
    while (match < place && match < 32 &&
           text[static_cast<size_t>(place - 1 - match)] == text[static_cast<size_t>(n - 1 - match)])
      ++match;
    most = std::max(most, match);
  }
  return most;
}

// Texts that grow token by token, or are cut, or replaced: what is found is what reading the text finds.
TEST(LookupIndex, FollowsAnyTextAsIfItWereNew) {
  std::mt19937 random(5);
  LookupIndex index;
  std::vector<Token> text;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 50 == 0) text.resize(random() % (text.size() + 1));
    if (random() % 200 == 0) text.clear();
    const auto n_kinds = 2 + random() % 4;
    for (auto n = random() % 4; n > 0; --n) text.push_back(static_cast<Token>(random() % n_kinds));
    if (text.size() > 60) text.resize(30);  // fewer places than are looked at
    index.follow(text);
    const LookupIndex::Found found = index.find(4);
    ASSERT_EQ(found.n_matched, farthest_match(text)) << "step " << i;
    ASSERT_EQ(found.tokens, found_in(text, 4)) << "step " << i;
    ASSERT_EQ(found.tokens.empty(), found.n_matched == 0);
  }
}

TEST(LookupIndex, LongTextsToo) {
  std::vector<Token> text;
  for (int i = 0; i < 40000; ++i) text.push_back(i);
  LookupIndex index;
  for (const size_t n : {900u, 1100u, 40000u}) index.follow(std::span(text).first(n));
  text.insert(text.end(), {17, 18, 19, 20, 21});
  index.follow(text);
  EXPECT_EQ(index.find(3).tokens, (std::vector<Token>{22, 23, 24}));
  EXPECT_EQ(index.find(3).n_matched, 5);
  EXPECT_EQ(index.find(3).agreement, 1);
}

}  // namespace
}  // namespace parlance
