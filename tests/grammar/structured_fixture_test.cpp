// The recorded schemas, expressions and grammars: what each lets through, what it stops, and what is refused.
#include <algorithm>
#include <string>

#include "base/parameter.h"
#include "grammar/following.h"
#include "grammar/grammar.h"
#include "gtest/gtest.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using Compiled = Result<std::shared_ptr<const Grammar>>;

Compiled compile_kind(const std::string& kind, const std::string& text) {
  if (kind == "grammar") return Grammar::from_gbnf(text);
  if (kind == "regex") return Grammar::from_regex(text);
  return Grammar::from_json_schema(text);
}

// As the server's answers name errors.
std::string code_of(const Error& error) {
  if (error.code == ErrorCode::too_complex) return "grammar_too_complex";
  return error.code == ErrorCode::unsupported ? "unsupported_schema" : "grammar_invalid";
}

class StructuredFixture : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("server/structured.json");
    fixture_ =
        nlohmann::ordered_json::parse(test::read_text(test::fixtures_root() / "server/structured.json"));
  }

  void expect_texts(const std::string& kind, const std::string& source, const nlohmann::ordered_json& entry) {
    SCOPED_TRACE(source);
    const Compiled grammar = compile_kind(kind, source);
    ASSERT_TRUE(grammar) << without_marks(grammar.error().message);
    for (const std::string text : entry["accept"]) EXPECT_TRUE(test::follows(*grammar, text)) << text;
    for (const std::string text : entry["reject"]) EXPECT_FALSE(test::follows(*grammar, text)) << text;
  }

  nlohmann::ordered_json fixture_;
};

TEST_F(StructuredFixture, ExpressionsAndGrammarsLetThroughWhatTheySay) {
  for (const auto& entry : fixture_["regexes"]) expect_texts("regex", entry["regex"], entry);
  for (const auto& entry : fixture_["grammars"]) expect_texts("grammar", entry["grammar"], entry);
}

TEST_F(StructuredFixture, SchemasLetThroughWhatTheySay) {
  for (const auto& entry : fixture_["schemas"]) expect_texts("schema", entry["schema"].dump(), entry);
}

TEST_F(StructuredFixture, BadGrammarsAreRefused) {
  for (const auto& entry : fixture_["bad_grammars"]) {
    const Compiled grammar = Grammar::from_gbnf(entry["grammar"].get<std::string>());
    ASSERT_FALSE(grammar) << entry["grammar"];
    EXPECT_EQ(code_of(grammar.error()), entry["code"]) << entry["grammar"] << grammar.error().message;
    EXPECT_EQ(first_parameter(grammar.error().message), Parameter::grammar);
  }
}

TEST_F(StructuredFixture, UnsupportedWordsAreNamedByTheirPlace) {
  for (const auto& entry : fixture_["unsupported"]) {
    const Compiled grammar = Grammar::from_json_schema(entry["schema"].dump());
    ASSERT_FALSE(grammar) << entry["schema"];
    EXPECT_EQ(code_of(grammar.error()), entry["code"]) << grammar.error().message;
    const std::string place = "json_schema=" + entry["pointer"].get<std::string>() + ":";
    EXPECT_TRUE(without_marks(grammar.error().message).starts_with(place)) << grammar.error().message;
  }
}

TEST_F(StructuredFixture, BombsEndSoonAndAsTheyShould) {
  for (const auto& entry : fixture_["bombs"]) {
    std::string text;
    for (const auto& part : entry["parts"]) {
      if (part.is_string()) {
        text += part.get<std::string>();
        continue;
      }
      const std::string repeated = part["repeat"];
      const size_t counter = repeated.find("%i");
      for (int i = 0; i < part["times"]; ++i) {
        text += counter == std::string::npos
                    ? repeated
                    : repeated.substr(0, counter) + std::to_string(i) + repeated.substr(counter + 2);
      }
    }
    SCOPED_TRACE(text.substr(0, 100));
    const Compiled grammar = compile_kind(entry["kind"], text);
    if (entry["codes"].is_null()) continue;
    ASSERT_FALSE(grammar);
    const auto& codes = entry["codes"];
    EXPECT_TRUE(std::find(codes.begin(), codes.end(), code_of(grammar.error())) != codes.end())
        << grammar.error().message;
  }
}

}  // namespace
}  // namespace parlance
