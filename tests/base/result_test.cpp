#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace parlance {
namespace {

Result<std::unique_ptr<int>> positive(int value) {
  if (value <= 0) return fail(ErrorCode::invalid_argument, "{} is not positive", value);
  return std::make_unique<int>(value);
}

Result<void> check(int value) {
  PARLANCE_CHECK(positive(value));
  return {};
}

Result<int> sum(int a, int b) {
  PARLANCE_TRY(const std::unique_ptr<int> first, positive(a));
  PARLANCE_TRY(const std::unique_ptr<int> second, positive(b));
  PARLANCE_CHECK(check(a));
  PARLANCE_CHECK(check(b));
  return *first + *second;
}

TEST(Result, ValuesPassAndErrorsReturn) {
  EXPECT_EQ(sum(1, 2), 3);
  const Result<int> failed = sum(1, -2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(failed.error().message, "-2 is not positive");
}

}  // namespace
}  // namespace parlance
