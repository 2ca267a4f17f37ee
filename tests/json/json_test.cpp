#include "json/json.h"

#include <limits>

#include "support/fixtures.h"

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

}  // namespace
}  // namespace parlance
