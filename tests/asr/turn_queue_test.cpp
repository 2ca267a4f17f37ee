#include "asr/turn_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace parlance {
namespace {

TEST(TurnQueue, UrgentOnesGoFirstAndEqualsAsTheyCame) {
  TurnQueue queue;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  {
    const TurnQueue::Turn turn(queue, Priority::background);
    std::atomic<int> n_asking = 0;
    int number = 0;
    for (const Priority priority : {Priority::background, Priority::interactive, Priority::realtime,
                                    Priority::interactive, Priority::realtime}) {
      threads.emplace_back([&, priority, number] {
        ++n_asking;
        const TurnQueue::Turn own(queue, priority);
        order.push_back(number);
      });
      while (n_asking == number) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until it stands in the queue
      ++number;
    }
  }
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 3, 0}));
}

}  // namespace
}  // namespace parlance
