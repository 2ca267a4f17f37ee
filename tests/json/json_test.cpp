#include "json/json.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "json/json_lines.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

TEST(Json, WritesWhatWasSetInItsOrder) {
  const Json json = Json::object({{"b", 1}, {"a", Json::array().push("x").push(true).push(Json())}});
  EXPECT_EQ(json.line(), R"({"b":1,"a":["x",true,null]})");
}

TEST(Json, KeepsNumbersWhole) {
  EXPECT_EQ(Json(UINT64_MAX).line(), "18446744073709551615");
  EXPECT_EQ(Json(INT64_MIN).line(), "-9223372036854775808");
  EXPECT_EQ(Json(0.5).line(), "0.5");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).line(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).line(), "null");
}

TEST(Json, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(Json("a\xff").line(), "\"a\uFFFD\"");
}

TEST(Json, ReadsWhatItWrites) {
  const auto json = Json::parse(R"({"text": "ä", "list": [1, "two"]})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->member("text")->text(), "ä");
  EXPECT_EQ(json->member("list")->elements()->size(), 2u);
  EXPECT_FALSE(json->member("list")->elements()->at(0).text());
  EXPECT_FALSE(json->member("absent"));
  EXPECT_FALSE(json->member("text")->elements());
}

// Any object or array, with few members or many, some of which come twice.
std::string any_json(std::mt19937& random, int depth) {
  const auto below = [&](unsigned n) { return random() % n; };
  if (depth == 0 || below(4) == 0) {
    constexpr std::array kPlain = {"null",  "true", "-7", "18446744073709551615", "0.5", "\"\\u00e4\"",
                                   "1e300", "{}",   "[]"};
    return kPlain[below(kPlain.size())];
  }
  const bool is_object = below(2) == 0;
  std::string text = is_object ? "{" : "[";
  for (unsigned n = below(4) == 0 ? 40 : below(5), i = 0; i < n; ++i) {
    if (i > 0) text += ", ";
    if (is_object) text += fmt::format("\"{}\": ", below(2 * n));
    text += any_json(random, depth - 1);
  }
  return text + (is_object ? "}" : "]");
}

TEST(Json, IsReadAsTheLibraryReadsIt) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const std::string text = any_json(random, 4);
    const auto json = Json::parse(text);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(json->line(), nlohmann::ordered_json::parse(text).dump()) << text;
    const std::string cut = text.substr(0, random() % text.size());
    EXPECT_EQ(Json::parse(cut).has_value(), nlohmann::json::accept(cut)) << cut;
  }
}

// Whatever takes a time that grows with the square of its size would be seen here.
TEST(Json, ManyMembersAndElementsAreReadInTheirOrder) {
  std::string object, array;
  constexpr int kMany = 50000;
  for (int i = 0; i < kMany; ++i) {
    object += fmt::format("{}\"{}\":{}", i ? "," : "", i, i);
    array += i ? ",{\"a\":1}" : "{\"a\":1}";
  }
  for (const auto& parse : {Json::parse, Json::parse_request}) {
    const auto read = parse("{" + object + "}");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->members()->size(), static_cast<size_t>(kMany));
    EXPECT_EQ(read->line(), "{" + object + "}");
    EXPECT_EQ(parse("[" + array + "]")->line(), "[" + array + "]");
  }
  EXPECT_NE(Json::parse_request("{" + object + ",\"77\":1}").error().message.find("\"77\" comes twice"),
            std::string::npos);
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\"}", "nul", "\"\xff\"", "1 2"})
    EXPECT_FALSE(Json::parse(bad)) << bad;
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_FALSE(Json::parse(std::string(1'000'000, '[')));
  EXPECT_FALSE(Json::parse(std::string(100, '[') + std::string(100, ']')));
  EXPECT_TRUE(Json::parse(std::string(50, '[') + std::string(50, ']')));
  EXPECT_TRUE(Json::parse("\"" + std::string(1000, '[') + "\""));
}

// The text may be a request, an argument or a line of a file: who knows says what is corrupt.
TEST(Json, WhatIsNoJsonIsAnInvalidArgument) {
  for (const std::string text : {"", "{", "[1,]", "nul", "\"\xff\""}) {
    const auto parsed = Json::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(Json::parse(std::string(100000, '[')).error().code, ErrorCode::too_complex);
}

TEST(Json, ValuesSayWhatTheyAre) {
  const auto json = Json::parse(R"({"b": [true, null], "a": 1})");
  ASSERT_TRUE(json);
  const auto members = json->members();
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[0].first, "b");
  EXPECT_EQ((*members)[1].first, "a");
  const auto elements = (*members)[0].second.elements();
  ASSERT_TRUE(elements);
  EXPECT_EQ((*elements)[0].truth(), true);
  EXPECT_FALSE((*elements)[0].is_null());
  EXPECT_TRUE((*elements)[1].is_null());
  EXPECT_EQ((*elements)[1].truth(), std::nullopt);
  EXPECT_FALSE((*elements)[1].members());
}

TEST(JsonLines, ALineThatIsNoneMakesAFileCorrupt) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "lines.jsonl") << "{\"a\": 1}\n\n{\n";
  const auto lines = read_json_lines(folder / "lines.jsonl", kMostSetBytes, "numbers", Json::parse);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, ErrorCode::corrupt_file);
  EXPECT_NE(lines.error().message.find("lines.jsonl:3"), std::string::npos) << lines.error().message;
}

}  // namespace
}  // namespace parlance
