#include "base/parse_number.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(ParseNumber, WantsAllOfTheText) {
  EXPECT_EQ(parse_number<int>("12"), 12);
  EXPECT_EQ(parse_number<int>("+12"), 12);
  EXPECT_EQ(parse_number<int>("12x"), std::nullopt);
  EXPECT_EQ(parse_number<int>(""), std::nullopt);
  EXPECT_EQ(parse_number<int>("1.5"), std::nullopt);
  EXPECT_EQ(parse_number<int>("99999999999"), std::nullopt);
  EXPECT_EQ(parse_number<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_number<double>("1.5"), 1.5);
  EXPECT_EQ(parse_number<float>("1e2"), 100.0f);
}

}  // namespace
}  // namespace parlance
