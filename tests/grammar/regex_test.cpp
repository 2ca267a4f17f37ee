// Regular expressions match what the standard library's match, and are refused where they should be.
#include "grammar/regex.h"

#include <rapidcheck.h>

#include <random>
#include <regex>
#include <string>

#include "base/parameter.h"
#include "grammar/following.h"
#include "grammar/schema_text.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

// Expressions of the part that both understand, over a small alphabet so that many texts match.
class RandomRegex {
 public:
  explicit RandomRegex(uint64_t seed) : random_(seed) {}

  // Without loops inside of loops, for which the library's matcher takes for ever.
  std::string expression(int depth = 3, bool may_loop = true) {
    std::string text = sequence(depth, may_loop);
    while (below(4) == 0) text += '|' + sequence(depth, may_loop);
    return text;
  }
  std::string text() {
    std::string text;
    for (size_t n = below(7); n > 0; --n) text += kLetters[below(kLetters.size())];
    return text;
  }
  size_t below(size_t n) { return random_() % n; }

 private:
  static constexpr std::string_view kLetters = "abc1_- .\n";

  std::string sequence(int depth, bool may_loop) {
    static constexpr const char* kBounded[] = {"", "", "?", "{2}", "{0,2}"};
    static constexpr const char* kLoops[] = {"*", "+", "{1,}", "*?", "+?"};
    std::string text;
    for (size_t n = below(4); n > 0; --n) {
      const bool is_loop = may_loop && below(3) == 0;
      text += atom(depth, may_loop && !is_loop);
      text += is_loop ? kLoops[below(std::size(kLoops))] : kBounded[below(std::size(kBounded))];
    }
    return text;
  }
  std::string atom(int depth, bool may_loop) {
    static constexpr const char* kAtoms[] = {
        "a",   "b",   "c",    "1",     "-",     "\\.",    ".",      "\\d",  "\\D", "\\w",   "\\W",
        "\\s", "\\S", "[ab]", "[^ab]", "[a-c]", "[\\d_]", "[^\\w]", "[b-]", "\\n", "\\x61", "\\u0062"};
    if (depth == 0 || below(3) > 0) return kAtoms[below(std::size(kAtoms))];
    return (below(2) == 0 ? "(" : "(?:") + expression(depth - 1, may_loop) + ")";
  }

  std::mt19937_64 random_;
};

TEST(Regex, MatchesWhatTheStandardLibraryMatches) {
  rc::check("whole texts and parts of texts", [](uint64_t seed) {
    RandomRegex random(seed);
    const std::string body = random.expression();
    const bool begins = random.below(3) == 0, ends = random.below(3) == 0;
    const std::string whole = std::string(begins ? "^" : "") + "(?:" + body + ")" + (ends ? "$" : "");
    // "multiline" is not set, so that ^ and $ are the ends of the text; in libstdc++ they are those of lines.
    const std::regex part(whole, std::regex::ECMAScript), all("(?:" + body + ")", std::regex::ECMAScript);
    CompileBudget budget;
    const auto searched = parse_regex(whole, RegexMatch::anywhere, "test", budget);
    const auto matched = parse_regex(body, RegexMatch::whole, "test", budget);
    RC_ASSERT(searched && matched);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random.text();
      RC_LOG() << body << " on " << text << "\n";
      RC_ASSERT(accepts_text(*matched, text) == std::regex_match(text, all));
      if ((begins || ends) && text.find('\n') != std::string::npos) continue;
      RC_ASSERT(accepts_text(*searched, text) == std::regex_search(text, part));
    }
  });
}

TEST(Regex, CharactersBeyondAsciiAreOneCharacter) {
  const auto grammar = Grammar::from_regex("[é-ë]{2}\\uD83D\\uDE00\\u{1F601}[^a].");
  ASSERT_TRUE(grammar) << grammar.error().message;
  EXPECT_TRUE(test::follows(*grammar, "éê😀😁b日"));
  EXPECT_FALSE(test::follows(*grammar, "éê😀😁a日"));
  EXPECT_FALSE(test::follows(*grammar, "éê😀😁b"));
  EXPECT_FALSE(test::follows(*grammar, "éê😀😁b\xE6\x97"));
}

TEST(Regex, WhatItCannotDoIsUnsupportedAndWhatIsNoneIsInvalid) {
  for (const char* const text : {"(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(a)\\1", "\\bword", "\\p{L}", "a^b",
                                 "a$b", "(^a)", "(?i)a", "\\k<x>"}) {
    const auto grammar = Grammar::from_regex(text);
    ASSERT_FALSE(grammar) << text;
    EXPECT_EQ(grammar.error().code, ErrorCode::unsupported) << grammar.error().message;
    EXPECT_EQ(first_parameter(grammar.error().message), Parameter::regex);
  }
  for (const char* const text : {"(a", "a)", "[a", "*a", "a**", "a{2,1}", "\\", "[b-a]", "\\u12", "\\xg",
                                 "\\uD800", "\\y", "(?<n", "\xff"}) {
    const auto grammar = Grammar::from_regex(text);
    ASSERT_FALSE(grammar) << text;
    EXPECT_EQ(grammar.error().code, ErrorCode::invalid_argument) << grammar.error().message;
  }
}

TEST(Regex, BoundsHoldJustInsideAndJustOutside) {
  const auto nested = [](size_t depth) { return std::string(depth, '(') + 'a' + std::string(depth, ')'); };
  const std::pair<std::string, std::string> kPairs[] = {
      {nested(kMostNesting), nested(kMostNesting + 1)},
      {"a{10000}", "a{10001}"},
      {"(a{100}){1000}b?", "(a{101}){1000}b?"},
      {std::string(kMostRegexBytes, 'a'), std::string(kMostRegexBytes + 1, 'a')},
  };
  for (const auto& [inside, outside] : kPairs) {
    const auto good = Grammar::from_regex(inside), bad = Grammar::from_regex(outside);
    // A hundred thousand states are beyond another bound.
    EXPECT_TRUE(good || inside == "(a{100}){1000}b?") << good.error().message;
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::too_complex) << bad.error().message;
  }
  const auto most = Grammar::from_regex("a{10000}");
  ASSERT_TRUE(most);
  EXPECT_TRUE(test::follows(*most, std::string(10000, 'a')));
  EXPECT_FALSE(test::follows(*most, std::string(9999, 'a')));
  EXPECT_FALSE(test::follows(*most, std::string(10001, 'a')));
}

}  // namespace
}  // namespace parlance
