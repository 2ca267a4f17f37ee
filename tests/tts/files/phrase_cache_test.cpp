#include "tts/files/phrase_cache.h"

#include "gtest/gtest.h"

namespace parlance::test {
namespace {

const std::vector<float> kSound{0.5f, -0.5f};

TEST(PhraseCache, SpellingDoesNotMatter) {
  EXPECT_EQ(PhraseCache::normalise("  One\t sec \n"), "one sec");
  EXPECT_EQ(PhraseCache::normalise("Ä b"), "Ä b");  // only ASCII letters
  EXPECT_EQ(PhraseCache::normalise(" \n"), std::nullopt);
  EXPECT_TRUE(PhraseCache::normalise("1 2 3 4 5 6 7 8 9"));
  EXPECT_FALSE(PhraseCache::normalise("1 2 3 4 5 6 7 8 9 10"));
  PhraseCache cache(4);
  cache.insert("One sec", "voice", kSound);
  EXPECT_EQ(cache.find(" one  SEC", "voice"), kSound);
  EXPECT_FALSE(cache.find("one sec", "another voice"));
  EXPECT_FALSE(cache.find("one", "voice"));
}

TEST(PhraseCache, KeepsWhatWasUsedLast) {
  PhraseCache cache(2);
  cache.insert("a", "", kSound);
  cache.insert("b", "", kSound);
  EXPECT_TRUE(cache.find("a", ""));
  cache.insert("c", "", kSound);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_TRUE(cache.find("a", ""));
  EXPECT_FALSE(cache.find("b", ""));
  cache.insert("a", "", std::vector<float>{1});
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find("a", ""), std::vector<float>{1});
}

TEST(PhraseCache, LongSoundsAndNothingAreNotKept) {
  PhraseCache cache(2);
  cache.insert("a", "", std::vector<float>(PhraseCache::kMostSamples + 1));
  cache.insert("b", "", {});
  cache.insert("", "", kSound);
  EXPECT_EQ(cache.size(), 0u);
  PhraseCache none(0);
  none.insert("a", "", kSound);
  EXPECT_FALSE(none.find("a", ""));
}

}  // namespace
}  // namespace parlance::test
