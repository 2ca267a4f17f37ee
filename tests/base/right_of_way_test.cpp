#include "base/right_of_way.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace parlance {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(20);

using Share = RightOfWay::Share;

TEST(RightOfWay, BetterRanksGoFirst) {
  RightOfWay way;
  std::string order;  // written by whoever has entered
  const Share share = way.enter(1);
  std::vector<std::thread> threads;
  for (const int rank : {3, 2, 0}) {
    threads.emplace_back([&way, &order, rank] {
      const Share own = way.enter(rank);
      order += static_cast<char>('0' + rank);
      way.leave(own);
    });
    std::this_thread::sleep_for(kMoment);
  }
  way.leave(share);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "023");
}

TEST(RightOfWay, GivesWayToBetterRanksOnly) {
  for (const bool can_halve : {false, true}) {
    RightOfWay way(can_halve);
    std::string order;
    Share share = way.enter(1);
    std::thread worse([&] {
      const Share own = way.enter(2);
      order += 'w';
      way.leave(own);
    });
    std::this_thread::sleep_for(kMoment);
    share = way.give_way(1, share);
    order += 'm';
    std::thread better([&] {
      const Share own = way.enter(0);
      order += 'b';
      way.leave(own);
    });
    std::this_thread::sleep_for(kMoment);
    share = way.give_way(1, share);
    order += 'm';
    EXPECT_EQ(share, Share::all);
    way.leave(share);
    worse.join();
    better.join();
    EXPECT_EQ(order, "mbmw");
  }
}

TEST(RightOfWay, EqualsHaveHalfEach) {
  RightOfWay way(/*can_halve=*/true);
  const Share alone = way.enter(1);
  EXPECT_EQ(alone, Share::all);
  EXPECT_EQ(way.give_way(1, alone), Share::all) << "nobody waits";
  std::atomic<int> step = 0;
  std::atomic<Share> others = Share::all;
  std::thread equal([&] {
    const Share own = way.enter(1);
    others = way.give_way(1, own);
    step = 1;
    while (step != 2) std::this_thread::yield();
    way.leave(own);
    step = 3;
  });
  std::this_thread::sleep_for(kMoment);
  EXPECT_EQ(step, 0) << "until the first gives way";
  const Share half = way.give_way(1, alone);
  EXPECT_EQ(half, Share::first_half);
  while (step != 1) std::this_thread::yield();
  EXPECT_EQ(others, Share::second_half);
  EXPECT_EQ(way.give_way(1, half), half) << "the other is still there";
  step = 2;
  while (step != 3) std::this_thread::yield();
  EXPECT_EQ(way.give_way(1, half), Share::all) << "the other has left";
  way.leave(Share::all);
  equal.join();
}

TEST(RightOfWay, WhatCannotBeHalvedIsNot) {
  RightOfWay way;
  const Share share = way.enter(1);
  std::thread equal([&] { way.leave(way.enter(1)); });
  std::this_thread::sleep_for(kMoment);
  EXPECT_EQ(way.give_way(1, share), Share::all);
  way.leave(share);
  equal.join();
}

// Whoever computes has something that nobody else has, and nobody of another rank does.
TEST(RightOfWay, NothingIsHadTwice) {
  for (const bool can_halve : {false, true}) {
    RightOfWay way(can_halve);
    std::mutex mutex;  // of what follows
    uint32_t had = 0;
    std::array<int, 3> n_inside{};
    int64_t n_done = 0, n_wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, rank = i % 3] {
        const auto note = [&](Share share, int change) {
          const std::lock_guard lock(mutex);
          const auto bits = static_cast<uint32_t>(share);
          if (change > 0 && (had & bits) != 0) ++n_wrong;
          had = change > 0 ? had | bits : had & ~bits;
          n_inside[static_cast<size_t>(rank)] += change;
          for (int other = 0; other < 3; ++other) {
            if (other != rank && n_inside[static_cast<size_t>(other)] > 0) ++n_wrong;
          }
        };
        for (int round = 0; round < 300; ++round) {
          Share share = way.enter(rank);
          for (int piece = 0; piece < 5; ++piece) {
            note(share, 1);
            if (piece == 2) std::this_thread::yield();
            note(share, -1);
            share = way.give_way(rank, share);
          }
          way.leave(share);
          const std::lock_guard lock(mutex);
          ++n_done;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_wrong, 0) << "can be halved: " << can_halve;
    EXPECT_EQ(n_done, 6 * 300);
    EXPECT_EQ(way.enter(2), Share::all);
  }
}

}  // namespace
}  // namespace parlance
