#include "sampling/stop_matcher.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace parlance {
namespace {

using Texts = std::vector<std::string>;

TEST(StopMatcher, HoldsBackABeginningAndLetsItGo) {
  StopMatcher matcher({"STOP"});
  EXPECT_EQ(matcher.push("one S"), "one ");
  EXPECT_EQ(matcher.push("T"), "");
  EXPECT_EQ(matcher.push(""), "");
  EXPECT_EQ(matcher.push("ART ST"), "START ");
  EXPECT_EQ(matcher.finish(), "ST");
  EXPECT_FALSE(matcher.matched());
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, DropsTheStopTextAndTheRest) {
  StopMatcher matcher({"\n\nUser:", "<end>"});
  EXPECT_EQ(matcher.push("Hello.\n"), "Hello.");
  EXPECT_EQ(matcher.push("\nUs"), "");
  EXPECT_EQ(matcher.push("er: more <end>"), "");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.match(), "\n\nUser:");
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, OverlappingBeginnings) {
  StopMatcher repeated({"aab"});
  EXPECT_EQ(repeated.push("aaa"), "a");
  EXPECT_EQ(repeated.push("ab"), "a");
  EXPECT_TRUE(repeated.matched());

  StopMatcher nested({"b", "ab", "abc"});  // "b" and "ab" end together: the earlier beginning counts
  EXPECT_EQ(nested.push("xabc"), "x");
  EXPECT_EQ(nested.match(), "ab");

  StopMatcher crossing({"abcd", "bcx"});
  EXPECT_EQ(crossing.push("abc"), "");
  EXPECT_EQ(crossing.push("x"), "a");
  EXPECT_EQ(crossing.match(), "bcx");
}

TEST(StopMatcher, NothingToStopAt) {
  for (const Texts& stops : {Texts{}, Texts{""}}) {
    StopMatcher matcher(stops);
    EXPECT_EQ(matcher.push("text"), "text");
    EXPECT_EQ(matcher.finish(), "");
    EXPECT_FALSE(matcher.matched());
    EXPECT_EQ(matcher.match(), "");
  }
}

TEST(StopMatcher, BeginsAnewAfterTheEnd) {
  StopMatcher matcher({"ab"});
  matcher.push("xab");
  matcher.finish();
  EXPECT_EQ(matcher.push("a"), "");
  matcher.finish();
  EXPECT_EQ(matcher.push("b"), "b");
  EXPECT_FALSE(matcher.matched());
}

// The definition: the first end, then the earliest beginning.
std::string cut(const std::string& text, const Texts& stops, bool& matched) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t begin = end;
    for (const std::string& stop : stops) {
      if (!stop.empty() && text.substr(0, end).ends_with(stop)) begin = std::min(begin, end - stop.size());
    }
    if (begin != end) {
      matched = true;
      return text.substr(0, begin);
    }
  }
  matched = false;
  return text;
}

TEST(StopMatcher, PiecesDoNotMatterAndNothingIsHeldLongerThanNeeded) {
  std::mt19937_64 random(23);
  const auto random_text = [&](uint64_t most) {
    std::string text;
    for (uint64_t n = random() % most; n > 0; --n) text.push_back("abc"[random() % 3]);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    Texts stops;
    for (uint64_t n = random() % 4; n > 0; --n) stops.push_back(random_text(6));
    const std::string text = random_text(30);
    bool expected_match = false;
    const std::string expected = cut(text, stops, expected_match);
    StopMatcher matcher(stops);
    std::string joined;
    for (size_t at = 0; at < text.size() && !matcher.matched();) {
      const size_t n = std::min<size_t>(random() % 5, text.size() - at);
      joined += matcher.push(std::string_view(text).substr(at, n));
      at += n;
      if (matcher.matched()) break;
      // What is held back is the beginning of a stop text.
      const std::string held = text.substr(joined.size(), at - joined.size());
      ASSERT_TRUE(held.empty() ||
                  std::ranges::any_of(stops, [&](const auto& s) { return s.starts_with(held); }));
    }
    ASSERT_EQ(matcher.matched(), expected_match);
    ASSERT_EQ(joined + matcher.finish(), expected) << testing::PrintToString(stops) << " in " << text;
  }
}

}  // namespace
}  // namespace parlance
