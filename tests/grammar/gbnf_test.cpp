// Grammars in llama.cpp's format: what they let through, and where their bounds are.
#include <random>
#include <string>

#include "base/parameter.h"
#include "grammar/following.h"
#include "gtest/gtest.h"
#include "support/json_file.h"

namespace parlance {
namespace {

constexpr const char* kJsonGrammar = R"(
# any JSON with any white space
root   ::= ws value
value  ::= (object | array | string | number | "true" | "false" | "null") ws
object ::= "{" ws (member ("," ws member)*)? "}"
member ::= string ws ":" ws value
array  ::= "[" ws (value ("," ws value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex{4}))* "\""
hex    ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\r\n]*
)";

class Arithmetic {
 public:
  explicit Arithmetic(uint64_t seed) : random_(seed) {}
  std::string expression(int depth) {
    std::string text = term(depth);
    for (size_t n = random_() % 3; n > 0; --n) text += "+-*/"[random_() % 4] + term(depth);
    return text;
  }

 private:
  std::string term(int depth) {
    if (depth == 0 || random_() % 2) return std::to_string(random_() % 1000);
    return "(" + expression(depth - 1) + ")";
  }
  std::mt19937_64 random_;
};

// Whether it is an expression, by descending through it.
bool is_expression(std::string_view text, size_t& at) {
  for (;;) {
    if (at < text.size() && text[at] == '(') {
      if (!is_expression(text, ++at) || at >= text.size() || text[at] != ')') return false;
      ++at;
    } else {
      const size_t begin = at;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
      if (at == begin) return false;
    }
    if (at >= text.size() || std::string_view("+-*/").find(text[at]) == std::string_view::npos) return true;
    ++at;
  }
}

TEST(Gbnf, ArithmeticIsWhatAPlainParserSays) {
  const auto grammar = Grammar::from_gbnf(
      "root ::= expr\nexpr ::= term ([-+*/] term)*\nterm ::= num | \"(\" expr \")\"\nnum ::= [0-9]+");
  ASSERT_TRUE(grammar) << grammar.error().message;
  Recogniser recogniser(*grammar);
  std::mt19937_64 random(7);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::string text = Arithmetic(seed).expression(4);
    EXPECT_TRUE(test::follows(recogniser, text)) << text;
    text[random() % text.size()] = "()+1"[random() % 4];
    size_t at = 0;
    const bool expected = is_expression(text, at) && at == text.size();
    EXPECT_EQ(test::follows(recogniser, text), expected) << text;
  }
}

TEST(Gbnf, JsonIsWhatAJsonReaderSays) {
  const auto grammar = Grammar::from_gbnf(kJsonGrammar);
  ASSERT_TRUE(grammar) << grammar.error().message;
  Recogniser recogniser(*grammar);
  const std::string kTexts[] = {R"({"a": [1, -2.5e+3, "x\u00e9\n", {"b": null}], "": true})", " [ ] ",
                                R"([{"a":{"b":{"c":[[[[]]]]}}}])", R"("é😀\"")", "0.5"};
  std::mt19937_64 random(3);
  for (const std::string& text : kTexts) {
    EXPECT_TRUE(test::follows(recogniser, text)) << text;
    for (int i = 0; i < 200; ++i) {
      std::string broken = text;
      const size_t at = random() % broken.size();
      static constexpr std::string_view kBytes = "[]{},:\" 01e-\\u\x01";
      random() % 2 ? broken.erase(at, 1) : (broken[at] = kBytes[random() % kBytes.size()], broken);
      // Halves of surrogate pairs are escapes to this grammar, but no text to the reader.
      if (broken.find("\\u") != std::string::npos && broken.find("\\u00") == std::string::npos) continue;
      EXPECT_EQ(test::follows(recogniser, broken), nlohmann::json::accept(broken)) << broken;
    }
  }
}

TEST(Gbnf, ListsMayBeWrittenInAnyWay) {
  for (const char* const text : {
           "root ::= item (\",\" item)*\nitem ::= [a-z]+",
           "root ::= item rest\nrest ::= (\",\" item rest)?\nitem ::= [a-z]+",
           "root ::= item | item \",\" root\nitem ::= [a-z] item?",
           "root ::=\n  item |\n  item \",\" root # more\n\nitem ::= [a-z]{1,}",
           "root ::= (item \",\"){0,} item\nitem ::= letter+\nletter ::=\n  [a-y]\n  | \"z\"",
       }) {
    const auto grammar = Grammar::from_gbnf(text);
    ASSERT_TRUE(grammar) << text << grammar.error().message;
    std::string list = "a";
    for (int i = 0; i < 2000; ++i) list += ",bz";
    EXPECT_TRUE(test::follows(*grammar, list))
        << text;  // however long: what comes last in a rule nests nothing
    EXPECT_FALSE(test::follows(*grammar, list + ",")) << text;
    EXPECT_FALSE(test::follows(*grammar, "," + list)) << text;
  }
}

TEST(Gbnf, WhatCanBeReadInManyWaysIsFollowedInAllOfThem) {
  // Every beginning has as many ways to have come about as there are ways to cut it into words.
  const auto grammar = Grammar::from_gbnf("root ::= s \".\"\ns ::= \"a\" s \"b\" | \"a\" s \"c\" | \"x\"");
  ASSERT_TRUE(grammar);
  std::string text(200, 'a');
  text += 'x';
  for (int i = 0; i < 200; ++i) text += "bc"[i * 7 % 3 % 2];
  EXPECT_TRUE(test::follows(*grammar, text + "."));
  EXPECT_FALSE(test::follows(*grammar, text + "b."));
}

TEST(Gbnf, StacksHaveABoundAndRepetitionsHaveNone) {
  const auto grammar = Grammar::from_gbnf("root ::= \"(\" root \")\" | \"x\"");
  ASSERT_TRUE(grammar);
  const auto nested = [](size_t n) { return std::string(n, '(') + "x" + std::string(n, ')'); };
  EXPECT_TRUE(test::follows(*grammar, nested(Recogniser::kMostDepth)));
  EXPECT_FALSE(test::follows(*grammar, nested(Recogniser::kMostDepth + 1)));
  const auto counted = Grammar::from_gbnf("root ::= (\"(\" [0-9]{3} \")\"){2,10000}");
  ASSERT_TRUE(counted);
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "(123)";
  EXPECT_TRUE(test::follows(*counted, text));
  EXPECT_FALSE(test::follows(*counted, text + "(123)"));
  EXPECT_FALSE(test::follows(*counted, "(123)"));
}

TEST(Gbnf, BoundsHoldJustInsideAndJustOutside) {
  const auto rules = [](size_t n) {
    std::string text = "root ::= r1\n";
    for (size_t i = 1; i < n; ++i)
      text += fmt::format("r{} ::= {}\n", i, i + 1 < n ? fmt::format("r{}", i + 1) : "\"a\"");
    return text;
  };
  const auto nested = [](size_t n) {
    return "root ::= " + std::string(n, '(') + "\"a\"" + std::string(n, ')');
  };
  const auto comment = [](size_t n) { return "root ::= \"a\" #" + std::string(n - 14, '-'); };
  const std::pair<std::string, std::string> kPairs[] = {
      {nested(kMostNesting), nested(kMostNesting + 1)},
      {"root ::= \"a\"{10000}", "root ::= \"a\"{10001}"},
      {"root ::= (\"a\"{1000}){100}", "root ::= (\"a\"{1001}){100}"},
      {rules(kMostRules), rules(kMostRules + 1)},
      {comment(kMostGrammarBytes), comment(kMostGrammarBytes + 1)},
  };
  for (const auto& [inside, outside] : kPairs) {
    const auto good = Grammar::from_gbnf(inside), bad = Grammar::from_gbnf(outside);
    EXPECT_TRUE(good) << inside.substr(0, 40) << good.error().message;
    ASSERT_FALSE(bad) << outside.substr(0, 40);
    EXPECT_EQ(bad.error().code, ErrorCode::too_complex) << bad.error().message;
  }
}

TEST(Gbnf, ErrorsNameTheLine) {
  const auto grammar = Grammar::from_gbnf("root ::= a\na ::= \"x\"\nb = \"y\"");
  ASSERT_FALSE(grammar);
  EXPECT_EQ(without_marks(grammar.error().message), "grammar: line 3: expected ::= behind the name b");
  for (const char* const text :
       {"root ::= [a", "root ::= [b-a]", "root ::= \"\\q\"", "root ::= *", "root ::= <a", "root ::= !a",
        "root ::= \"a\"{", "root ::= \"a\")", "root ::= (\"a\"", "root", "root ::= (a\na ::= \"x\"",
        "root ::= \"a\" = b", "root ::= \"a\"{1,2", "\xff"}) {
    const auto refused = Grammar::from_gbnf(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(Gbnf, ARuleThatBeginsWithItselfIsRefusedHoweverItHides) {
  for (const char* const text : {
           "root ::= e root \"a\" | \"b\"\ne ::= \"x\"?",
           "root ::= (root | \"b\")+",
           "root ::= a\na ::= \"\" b\nb ::= c* a | \"x\"\nc ::= \"y\"",
           "root ::= (root \"x\"){300} | \"y\"",
       }) {
    const auto grammar = Grammar::from_gbnf(text);
    ASSERT_FALSE(grammar) << text;
    EXPECT_EQ(grammar.error().code, ErrorCode::invalid_argument) << grammar.error().message;
  }
  // A rule that never ends is of no use, but another branch may be.
  const auto grammar = Grammar::from_gbnf("root ::= \"a\" endless | \"b\"\nendless ::= \"x\" endless");
  ASSERT_TRUE(grammar) << grammar.error().message;
  EXPECT_TRUE(test::follows(*grammar, "b"));
  Recogniser recogniser(*grammar);
  EXPECT_EQ(recogniser.step(recogniser.begin(), 'a'), Recogniser::kDead);
}

}  // namespace
}  // namespace parlance
