#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace parlance {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::warning); }

  // What one message writes to standard error.
  static std::string written(LogLevel level, std::string_view message) {
    testing::internal::CaptureStderr();
    log_line(level, message);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, DropsWhatIsBelowItsLevel) {
  EXPECT_EQ(written(LogLevel::info, "a"), "");
  EXPECT_EQ(written(LogLevel::warning, "a"), "parlance: warning: a\n");
  set_log_level(LogLevel::debug);
  EXPECT_EQ(written(LogLevel::debug, "a"), "parlance: debug: a\n");
  EXPECT_EQ(written(LogLevel::info, "a"), "parlance: info: a\n");
  set_log_level(LogLevel::error);
  EXPECT_EQ(written(LogLevel::warning, "a"), "");
  EXPECT_EQ(written(LogLevel::error, "a"), "parlance: error: a\n");
  set_log_level(LogLevel::off);
  EXPECT_EQ(written(LogLevel::error, "a"), "");
  EXPECT_EQ(written(LogLevel::off, "a"), "");
}

TEST_F(Log, AMessageIsOneLine) {
  EXPECT_EQ(written(LogLevel::error, "a\nb\r\x1b[31m\x7f é"), "parlance: error: a b  [31m  é\n");
}

TEST_F(Log, Formats) {
  testing::internal::CaptureStderr();
  log_warning("{} of {}", 1, "two");
  log_info("{}", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "parlance: warning: 1 of two\n");
}

}  // namespace
}  // namespace parlance
