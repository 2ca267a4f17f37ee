// Whose turn it is: who wants a pause gets one while others always have something to do.
#include "engine/turns.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(Turns, APauseIsGivenToWhoAsksWhileThereIsAlwaysMoreToDo) {
  std::atomic<int> n_turns = 0;
  std::atomic<bool> is_in_turn = false, is_enough = false;
  Turns turns([&] {
    if (is_enough) return Turns::Progress::idle;
    is_in_turn = true;
    ++n_turns;
    is_in_turn = false;
    return Turns::Progress::made;
  });
  turns.start();
  auto pauses = std::async(std::launch::async, [&] {
    int n_disturbed = 0;
    for (int i = 0; i < 100; ++i) {
      turns.pause();
      const int n_before = n_turns;
      if (is_in_turn || n_turns != n_before) ++n_disturbed;
      turns.resume();
    }
    return n_disturbed;
  });
  const bool has_paused = pauses.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  is_enough = true;
  turns.wake();
  EXPECT_TRUE(has_paused) << "a thread that takes one turn after the other left no room for a pause";
  EXPECT_EQ(pauses.get(), 0);
}

}  // namespace
}  // namespace parlance
