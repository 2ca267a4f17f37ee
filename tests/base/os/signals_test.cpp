#include "base/os/signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>

namespace parlance {
namespace {

std::atomic<int> n_outer{0}, n_inner{0};

TEST(Signals, CallTheInnermostHandler) {
  constexpr std::array kBoth = {Signal::interrupt, Signal::terminate};
  constexpr std::array kOne = {Signal::interrupt};
  n_outer = n_inner = 0;
  {
    const SignalHandler outer(
        kBoth, [] { ++n_outer; }, SignalHandler::SystemCalls::go_on);
    std::raise(SIGINT);
    std::raise(SIGTERM);
    EXPECT_EQ(n_outer, 2);
    {
      const SignalHandler inner(
          kOne, [] { ++n_inner; }, SignalHandler::SystemCalls::end);
      std::raise(SIGINT);
      std::raise(SIGTERM);
      EXPECT_EQ(n_inner, 1);
      EXPECT_EQ(n_outer, 3);
    }
    std::raise(SIGINT);
    EXPECT_EQ(n_inner, 1);
    EXPECT_EQ(n_outer, 4);
  }
  EXPECT_EXIT(std::raise(SIGTERM), testing::KilledBySignal(SIGTERM), "") << "as it was before";
}

TEST(Signals, AHandlerMayEndTheProgram) {
  constexpr std::array kHangUp = {Signal::hang_up};
  const auto hang_up = [&] {
    const SignalHandler handler(
        kHangUp, [] { end_at_once(7); }, SignalHandler::SystemCalls::go_on);
    std::raise(SIGHUP);
  };
  EXPECT_EXIT(hang_up(), testing::ExitedWithCode(7), "");
}

TEST(Signals, AClosedPipeIsAFailedWrite) {
  const auto write_to_nobody = [] {
    let_writes_fail();
    std::array<int, 2> ends;
    if (::pipe(ends.data()) != 0) std::exit(1);
    ::close(ends[0]);
    std::exit(::write(ends[1], "x", 1) == -1 ? 0 : 2);
  };
  EXPECT_EXIT(write_to_nobody(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace parlance
