#include "base/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/parameter.h"

namespace parlance {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_log_level(LogLevel::warning);
    set_log_sink({});
  }

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

TEST_F(Log, NamesParametersByTheirIds) {
  EXPECT_EQ(written(LogLevel::error, fmt::format("raise {}", Parameter::ctx_size)),
            "parlance: error: raise ctx_size\n");
}

TEST_F(Log, AnEmbeddingProgramTakesTheMessages) {
  std::vector<std::pair<LogLevel, std::string>> taken;
  EXPECT_FALSE(set_log_sink([&](LogLevel level, std::string_view message) {
    taken.emplace_back(level, std::string(message));
  })) << "standard error";
  const std::string marked = fmt::format("lower {}\n", Parameter::ctx_size);
  EXPECT_EQ(written(LogLevel::warning, marked), "");
  EXPECT_EQ(written(LogLevel::info, "below the level"), "");
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0], std::pair(LogLevel::warning, marked)) << "as it was written";
  EXPECT_TRUE(set_log_sink({}));
  EXPECT_EQ(written(LogLevel::warning, "again"), "parlance: warning: again\n");
  EXPECT_EQ(taken.size(), 1u);
}

// Threads of drivers log too: each message is taken whole, and none after the sink was put aside.
TEST_F(Log, ASinkIsCalledByOneAtATime) {
  std::atomic<int> n_inside{0}, n_together{0}, n_taken{0};
  set_log_sink([&](LogLevel, std::string_view) {
    n_together += n_inside.fetch_add(1) > 0;
    ++n_taken;
    --n_inside;
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 200; ++k) log_warning("{}", k);
      });
    }
  }
  EXPECT_EQ(n_taken, 800);
  EXPECT_EQ(n_together, 0);
}

}  // namespace
}  // namespace parlance
