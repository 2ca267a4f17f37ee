// Regular expressions match what they should, and are refused where they should be.
#include "grammar/regex.h"

#include <rapidcheck.h>

#include <array>
#include <functional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/parameter.h"
#include "grammar/following.h"
#include "grammar/schema_text.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

// Places in a text, one bit each: texts here are short.
using Places = uint32_t;

// An expression, and where it can end in a text when it begins at any of some places.
struct Expression {
  std::string text;
  std::function<Places(const std::string& text, Places begins)> ends;
};

// The standard library says what a character is; all ways through an expression are followed here, which
// takes its backtracking for ever.
Expression atom_of(const char* text) {
  std::array<bool, 128> matches{};
  const std::regex one(text, std::regex::ECMAScript);
  for (size_t c = 0; c < matches.size(); ++c)
    matches[c] = std::regex_match(std::string(1, static_cast<char>(c)), one);
  return {text, [matches](const std::string& in, Places begins) {
            Places ends = 0;
            for (size_t i = 0; i < in.size(); ++i) {
              if ((begins >> i & 1) && matches[static_cast<unsigned char>(in[i])]) ends |= Places{2} << i;
            }
            return ends;
          }};
}

struct Repetition {
  const char* text;
  int least, most;
};

// No text here is longer.
constexpr int kAnyNumber = 8;

Expression repeated(const Expression& one, const Repetition& repetition) {
  return {one.text + repetition.text, [ends = one.ends, repetition](const std::string& in, Places begins) {
            Places all = 0;
            for (int i = 0; i <= repetition.most && begins; ++i) {
              if (i >= repetition.least) all |= begins;
              begins = ends(in, begins);
            }
            return all;
          }};
}

Expression joined(const Expression& first, const Expression& second) {
  return {first.text + second.text, [a = first.ends, b = second.ends](const std::string& in, Places begins) {
            return b(in, a(in, begins));
          }};
}

Expression either(const Expression& first, const Expression& second) {
  return {first.text + "|" + second.text,
          [a = first.ends, b = second.ends](const std::string& in, Places begins) {
            return a(in, begins) | b(in, begins);
          }};
}

// Over a small alphabet, so that many texts match.
class RandomRegex {
 public:
  explicit RandomRegex(uint64_t seed) : random_(seed) {}

  Expression expression(int depth = 3) {
    Expression all = sequence(depth);
    while (below(4) == 0) all = either(all, sequence(depth));
    return all;
  }
  std::string text() {
    std::string text;
    for (size_t n = below(7); n > 0; --n) text += kLetters[below(kLetters.size())];
    return text;
  }
  size_t below(size_t n) { return random_() % n; }

 private:
  static constexpr std::string_view kLetters = "abc1_- .\n";

  Expression sequence(int depth) {
    static constexpr Repetition kRepetitions[] = {{"", 1, 1},
                                                  {"", 1, 1},
                                                  {"?", 0, 1},
                                                  {"{2}", 2, 2},
                                                  {"{0,2}", 0, 2},
                                                  {"*", 0, kAnyNumber},
                                                  {"+", 1, kAnyNumber},
                                                  {"{1,}", 1, kAnyNumber},
                                                  {"*?", 0, kAnyNumber},
                                                  {"+?", 1, kAnyNumber}};
    Expression all = {"", [](const std::string&, Places begins) { return begins; }};
    for (size_t n = below(4); n > 0; --n)
      all = joined(all, repeated(atom(depth), kRepetitions[below(std::size(kRepetitions))]));
    return all;
  }
  Expression atom(int depth) {
    static const std::vector<Expression> atoms = [] {
      std::vector<Expression> all;
      for (const char* const text :
           {"a",   "b",   "c",    "1",     "-",     "\\.",    ".",      "\\d",  "\\D", "\\w",   "\\W",
            "\\s", "\\S", "[ab]", "[^ab]", "[a-c]", "[\\d_]", "[^\\w]", "[b-]", "\\n", "\\x61", "\\u0062"})
        all.push_back(atom_of(text));
      return all;
    }();
    if (depth == 0 || below(3) > 0) return atoms[below(atoms.size())];
    Expression inner = expression(depth - 1);
    inner.text = (below(2) == 0 ? "(" : "(?:") + inner.text + ")";
    return inner;
  }

  std::mt19937_64 random_;
};

TEST(Regex, MatchesAllThatItsPartsMatch) {
  EXPECT_TRUE(rc::check("whole texts and parts of texts", [](uint64_t seed) {
    RandomRegex random(seed);
    const Expression body = random.expression();
    const bool begins = random.below(3) == 0, ends = random.below(3) == 0;
    const std::string whole = std::string(begins ? "^" : "") + "(?:" + body.text + ")" + (ends ? "$" : "");
    CompileBudget budget;
    const auto searched = parse_regex(whole, RegexMatch::anywhere, "test", budget);
    const auto matched = parse_regex(body.text, RegexMatch::whole, "test", budget);
    RC_LOG() << whole << "\n";
    RC_PRE(!budget.is_spent());  // it has too many states
    RC_ASSERT(searched && matched);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random.text();
      RC_LOG() << "on " << text << "\n";
      const Places end = Places{1} << text.size(), all = 2 * end - 1;
      RC_ASSERT(accepts_text(*matched, text) == ((body.ends(text, 1) & end) != 0));
      const Places found = body.ends(text, begins ? 1 : all) & (ends ? end : all);
      RC_ASSERT(accepts_text(*searched, text) == (found != 0));
    }
  }));
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
