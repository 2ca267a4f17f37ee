#include "base/os/program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace parlance::test {
namespace {

TEST(Program, IsFoundByName) {
  EXPECT_TRUE(is_program("sh"));
  EXPECT_FALSE(is_program("no-program-has-this-name"));
}

TEST(Program, EndsWithWhatItSays) {
  EXPECT_TRUE(run_program("sh", {"-c", "exit 0"}));
  const auto failed = run_program("sh", {"-c", "exit 3"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "sh ended with 3");
  const auto killed = run_program("sh", {"-c", "kill -9 $$"});
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().message, "sh was ended by signal 9");
  const auto absent = run_program("no-program-has-this-name", {});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
}

TEST(Program, IsEndedWhenNobodyWantsItAnyMore) {
  const CancellationSource source;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.cancel();
  });
  const auto ended = run_program("sleep", {"600"}, source.ticket());
  other.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace parlance::test
