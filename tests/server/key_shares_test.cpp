// What one key may have made at once, and waiting.
#include "server/key_shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace parlance {
namespace {

TEST(KeyShares, WhoHasRoomBeginsAndOthersFollowInOrder) {
  KeyShares shares(KeyLimits{.n_running = 2, .n_waiting = 3});
  std::string begun;
  const auto note = [&begun](char name) { return [&begun, name] { begun += name; }; };
  auto a = shares.take("home", 1), b = shares.take("home", 1), c = shares.take("home", 2);
  ASSERT_TRUE(a && b && c);
  EXPECT_TRUE(a->begin(note('a')));
  EXPECT_TRUE(b->begin(note('b')));
  EXPECT_FALSE(c->begin(note('c')));
  auto d = shares.take("home", 1);
  ASSERT_TRUE(d);
  EXPECT_FALSE(shares.take("home", 1));
  EXPECT_FALSE(d->begin(note('d')));
  auto other = shares.take("office", 2);
  EXPECT_TRUE(other->begin({}));
  a.reset();
  EXPECT_EQ(begun, "") << "c needs both places, and d does not overtake it";
  b.reset();
  EXPECT_EQ(begun, "c");
  c.reset();
  EXPECT_EQ(begun, "cd");
  d.reset();
  other.reset();
  EXPECT_TRUE(shares.take("home", 5));
}

TEST(KeyShares, WhoGoesWhileItWaitsIsNotCalled) {
  KeyShares shares(KeyLimits{.n_running = 1, .n_waiting = 2});
  bool is_called = false, is_next_called = false;
  auto a = shares.take("k", 1), b = shares.take("k", 1), c = shares.take("k", 1);
  EXPECT_TRUE(a->begin({}));
  EXPECT_FALSE(b->begin([&] { is_called = true; }));
  EXPECT_FALSE(c->begin([&] { is_next_called = true; }));
  b.reset();
  a.reset();
  EXPECT_FALSE(is_called);
  EXPECT_TRUE(is_next_called);
}

TEST(KeyShares, MoreThanTheShareAreMadeAlone) {
  KeyShares shares(KeyLimits{.n_running = 2, .n_waiting = 16});
  bool is_called = false;
  auto a = shares.take("k", 1), b = shares.take("k", 8);
  EXPECT_TRUE(a->begin({}));
  EXPECT_FALSE(b->begin([&] { is_called = true; }));
  a.reset();
  EXPECT_TRUE(is_called);
}

TEST(KeyShares, NoLimitIsNone) {
  KeyShares shares(std::nullopt);
  std::vector<std::unique_ptr<KeyShares::Lease>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(shares.take("", 8));
    ASSERT_TRUE(all.back());
    EXPECT_TRUE(all.back()->begin({}));
  }
}

TEST(KeyShares, FromManyThreadsNothingIsLost) {
  constexpr int kThreads = 4, kRounds = 2000;
  KeyShares shares(KeyLimits{.n_running = 2, .n_waiting = 6});
  std::atomic<int> n_running{0}, n_too_many{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kRounds; ++i) {
        auto lease = shares.take("k", 1);
        if (!lease) continue;
        const auto is_turn = std::make_shared<std::atomic<bool>>(false);  // it may come while the lease goes
        if (!lease->begin([is_turn] { *is_turn = true; })) {
          if (random() % 4 == 0) {
            lease.reset();
            continue;
          }
          while (!*is_turn) std::this_thread::yield();
        }
        if (++n_running > 2) ++n_too_many;
        --n_running;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_too_many, 0);
  EXPECT_TRUE(shares.take("k", 8)) << "all is given back";
}

}  // namespace
}  // namespace parlance
