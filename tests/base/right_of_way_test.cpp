#include "base/right_of_way.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace parlance {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(20);

TEST(RightOfWay, BetterRanksGoFirst) {
  RightOfWay way;
  std::string order;  // written by whoever has entered
  way.enter(1);
  std::vector<std::thread> threads;
  for (const int rank : {3, 2, 0}) {
    threads.emplace_back([&way, &order, rank] {
      way.enter(rank);
      order += static_cast<char>('0' + rank);
      way.leave();
    });
    std::this_thread::sleep_for(kMoment);
  }
  way.leave();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "023");
}

TEST(RightOfWay, GivesWayToBetterRanksOnly) {
  RightOfWay way;
  std::string order;
  way.enter(1);
  std::thread worse([&] {
    way.enter(2);
    order += 'w';
    way.leave();
  });
  std::this_thread::sleep_for(kMoment);
  way.give_way(1);
  order += 'm';
  std::thread better([&] {
    way.enter(0);
    order += 'b';
    way.leave();
  });
  std::this_thread::sleep_for(kMoment);
  way.give_way(1);
  order += 'm';
  way.leave();
  worse.join();
  better.join();
  EXPECT_EQ(order, "mbmw");
}

TEST(RightOfWay, OneAtATime) {
  RightOfWay way;
  int n_inside = 0;
  int64_t n_done = 0;
  bool was_alone = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, rank = i % 3] {
      for (int round = 0; round < 300; ++round) {
        way.enter(rank);
        for (int piece = 0; piece < 5; ++piece) {
          was_alone = was_alone && ++n_inside == 1;
          ++n_done;
          --n_inside;
          way.give_way(rank);
        }
        way.leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(was_alone);
  EXPECT_EQ(n_done, 6 * 300 * 5);
}

}  // namespace
}  // namespace parlance
