#include "kv/page_pool.h"

#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(PagePool, GivesEachPageOnce) {
  PagePool pool(3);
  std::set<int32_t> pages;
  for (int i = 0; i < 3; ++i) pages.insert(pool.take().value());
  EXPECT_EQ(pages, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.take(), std::nullopt);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(1);
  EXPECT_EQ(pool.take(), 1);
}

TEST(PagePool, APageIsFreeWhenItsLastHolderReleasesIt) {
  PagePool pool(1);
  const int32_t page = pool.take().value();
  pool.hold(page);
  EXPECT_EQ(pool.holders(page), 2);
  pool.release(page);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(page);
  EXPECT_EQ(pool.holders(page), 0);
  EXPECT_EQ(pool.n_free(), 1);
}

TEST(PagePool, MayBeEmpty) {
  PagePool pool(0);
  EXPECT_EQ(pool.take(), std::nullopt);
  EXPECT_EQ(pool.new_among_next(3), (PagePool::Range{0, 0}));
}

TEST(PagePool, KnowsWhichOfTheNextPagesNobodyHadBefore) {
  constexpr int32_t kPages = 40;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    PagePool pool(kPages);
    std::set<int32_t> held, had;
    for (int i = 0; i < 200; ++i) {
      if (random() % 2 == 0 && !held.empty()) {
        const auto page = std::next(held.begin(), static_cast<int64_t>(random() % held.size()));
        pool.release(*page);
        held.erase(page);
      } else if (const auto page = pool.take()) {
        held.insert(*page);
        had.insert(*page);
      }
      const int64_t n = i < 199 ? static_cast<int64_t>(random() % 4) : kPages + 1;
      const PagePool::Range range = pool.new_among_next(n);
      std::set<int32_t> said, found;
      for (int32_t page = range.first; page < range.end; ++page) said.insert(page);
      std::vector<int32_t> taken;
      for (int64_t k = 0; k < n && pool.n_free() > 0; ++k) {
        taken.push_back(*pool.take());
        if (!had.contains(taken.back())) found.insert(taken.back());
      }
      ASSERT_EQ(said, found) << "seed " << seed << ", change " << i << ", the next " << n;
      had.insert(taken.begin(), taken.end());
      for (const int32_t page : taken) pool.release(page);
    }
  }
}

#ifdef PARLANCE_HAS_ASSERTIONS
TEST(PagePoolDeathTest, MisuseIsNoticed) {
  PagePool pool(2);
  EXPECT_DEATH(pool.release(0), "more often than held");
  EXPECT_DEATH(pool.hold(0), "taken, not held");
  EXPECT_DEATH(pool.hold(2), "no such page");
  EXPECT_DEATH(pool.release(-1), "no such page");
}
#endif

TEST(PagePools, AReferenceHoldsTheHalvesThatItHas) {
  PagePools pools({2, 1});
  const PageRef both{pools[PageKind::main].take().value(), pools[PageKind::exact].take().value()};
  const PageRef main_only{pools[PageKind::main].take().value(), -1};
  pools.hold(both);
  pools.hold(main_only);
  EXPECT_EQ(pools[PageKind::main].holders(both.main), 2);
  EXPECT_EQ(pools[PageKind::main].holders(main_only.main), 2);
  EXPECT_EQ(pools[PageKind::exact].holders(both.exact), 2);
  for (int i = 0; i < 2; ++i) {
    pools.release(both);
    pools.release(main_only);
  }
  pools.release(PageRef{});
  EXPECT_EQ(pools.n_free(), (PageCounts{2, 1}));
}

}  // namespace
}  // namespace parlance
